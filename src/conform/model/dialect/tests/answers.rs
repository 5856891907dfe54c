//! Answers: what a client puts together from a stream is the whole of it.

use serde_json::json;

use super::*;

/// The message that a client of Anthropic puts together.
fn anthropic_message(events: &[(String, Value)]) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    for (name, data) in events {
        let index = usize::try_from(data["index"].as_u64().unwrap_or(0)).expect("small");
        match name.as_str() {
            "message_start" => message = data["message"].clone(),
            "content_block_start" => {
                let content = message["content"].as_array_mut().expect("a list");
                assert_eq!(content.len(), index);
                content.push(data["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => match data["delta"]["type"].as_str().expect("a type") {
                "text_delta" => {
                    let text = &mut message["content"][index]["text"];
                    *text = (text.as_str().expect("text").to_owned() + data["delta"]["text"].as_str().expect("text"))
                        .into();
                }
                "input_json_delta" => inputs[index] += data["delta"]["partial_json"].as_str().expect("text"),
                other => panic!("{other}"),
            },
            "content_block_stop" => {
                if !inputs[index].is_empty() {
                    message["content"][index]["input"] = serde_json::from_str(&inputs[index]).expect("JSON");
                }
            }
            "message_delta" => {
                message["stop_reason"] = data["delta"]["stop_reason"].clone();
                message["usage"] = data["usage"].clone();
            }
            "message_stop" => return message,
            other => panic!("{other}"),
        }
    }
    panic!("the stream did not end")
}

#[test]
fn a_stream_of_anthropic_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let (events, whole) = (stream(&Dialect::Anthropic.events(&reply)), Dialect::Anthropic.whole(&reply));
        assert_eq!(anthropic_message(&events), whole);
        assert_eq!(whole["stop_reason"], if reply.calls.is_empty() { "end_turn" } else { "tool_use" });
        let usage = &whole["usage"];
        assert_eq!(usage["input_tokens"], 1000, "what was cached is not counted twice");
        assert_eq!((&usage["cache_read_input_tokens"], &usage["output_tokens"]), (&json!(5000), &json!(70)));
        let begun = &events[0].1["message"];
        assert_eq!((&begun["usage"]["output_tokens"], &begun["stop_reason"]), (&json!(1), &Value::Null));
    }
}

#[test]
fn a_stream_of_responses_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let (events, whole) = (stream(&Dialect::Responses.events(&reply)), Dialect::Responses.whole(&reply));
        for (at, (_, data)) in events.iter().enumerate() {
            assert_eq!(data["sequence_number"], at);
        }
        let (last, data) = events.last().expect("events");
        assert_eq!((last.as_str(), &data["response"]), ("response.completed", &whole));
        let of = |name: &str| -> Vec<&Value> {
            events.iter().filter(|(event, _)| event == name).map(|(_, data)| data).collect()
        };
        let done: Vec<&Value> = of("response.output_item.done").iter().map(|data| &data["item"]).collect();
        assert_eq!(json!(done), whole["output"]);
        for (item, index) in done.iter().zip(0..) {
            let deltas = events.iter().map(|(_, data)| data).filter(|data| data["output_index"] == index);
            let text: String = deltas.filter_map(|data| data["delta"].as_str()).collect();
            let expected = item["arguments"].as_str().or(item["content"][0]["text"].as_str());
            assert_eq!(Some(text.as_str()), expected);
        }
        assert_eq!(of("response.output_item.added").len(), done.len());
        assert_eq!(whole["usage"]["total_tokens"], 6070);
        assert_eq!(whole["usage"]["input_tokens_details"]["cached_tokens"], 5000);
    }
}

/// The message that a client of Chat Completions puts together.
fn chat_message(chunks: &[Value]) -> Value {
    let mut text = String::new();
    let mut calls: Vec<Value> = Vec::new();
    for delta in chunks.iter().filter_map(|chunk| chunk["choices"].get(0)).map(|choice| &choice["delta"]) {
        text += delta["content"].as_str().unwrap_or_default();
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
            let more = call["function"]["arguments"].as_str().expect("a text");
            if index == calls.len() {
                calls.push(call.clone());
                calls[index].as_object_mut().expect("an object").remove("index");
                assert_eq!(more, "");
            } else {
                let so_far = calls[index]["function"]["arguments"].as_str().expect("a text").to_owned();
                calls[index]["function"]["arguments"] = (so_far + more).into();
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    if !text.is_empty() {
        message["content"] = text.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

#[test]
fn a_stream_of_chat_completions_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let events = Dialect::Chat.events(&reply);
        assert_eq!(events.last().map(Event::bytes), Some(b"data: [DONE]\n\n".to_vec()));
        let (chunks, whole) = (chunks(&events), Dialect::Chat.whole(&reply));
        assert_eq!(chat_message(&chunks), whole["choices"][0]["message"]);
        let finish: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect();
        let finish: Vec<&str> = finish.into_iter().filter_map(Value::as_str).collect();
        assert_eq!(finish, [if reply.calls.is_empty() { "stop" } else { "tool_calls" }]);
        assert_eq!(whole["choices"][0]["finish_reason"], finish[0]);
        let last = chunks.last().expect("chunks");
        assert_eq!((&last["usage"], &last["choices"]), (&whole["usage"], &json!([])));
        assert_eq!(whole["usage"]["total_tokens"], 6070);
        assert_eq!(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 5000);
    }
}

#[test]
fn a_stream_of_gemini_adds_up_to_the_whole_answer() {
    for reply in replies() {
        let (chunks, whole) = (chunks(&Dialect::Gemini.events(&reply)), Dialect::Gemini.whole(&reply));
        let parts: Vec<&Value> = chunks.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
        let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        assert_eq!(text, reply.text.unwrap_or_default());
        let called: Vec<&&Value> = parts.iter().filter(|part| part["functionCall"].is_object()).collect();
        let whole_parts = whole["candidates"][0]["content"]["parts"].as_array().expect("a list");
        let expected: Vec<&Value> = whole_parts.iter().filter(|part| part["functionCall"].is_object()).collect();
        assert_eq!(called.len(), reply.calls.len());
        assert!(called.iter().zip(expected).all(|(called, expected)| **called == expected));
        let ends: Vec<bool> = chunks.iter().map(|chunk| chunk["candidates"][0]["finishReason"] == "STOP").collect();
        assert_eq!(ends.iter().position(|end| *end), Some(chunks.len() - 1), "only the last one ends it");
        assert_eq!(chunks.last().expect("chunks")["usageMetadata"], whole["usageMetadata"]);
        assert_eq!(whole["usageMetadata"]["totalTokenCount"], 6070);
        assert_eq!(whole["usageMetadata"]["cachedContentTokenCount"], 5000);
    }
}

#[test]
fn a_model_that_stops_short_says_so_in_the_vendors_word() {
    let path = |stop| {
        let reply = Reply { stop: Some(stop), ..reply(Some("x"), 0) };
        let last = |dialect: Dialect| match dialect.events(&reply).into_iter().rev().find(|it| *it != Event::Done) {
            Some(Event::Named { data, .. } | Event::Data(data)) => data,
            other => panic!("{other:?}"),
        };
        let chat = chunks(&Dialect::Chat.events(&reply));
        let delta = stream(&Dialect::Anthropic.events(&reply)).into_iter().find(|(name, _)| name == "message_delta");
        let streamed = [
            delta.expect("a delta").1["delta"]["stop_reason"].clone(),
            last(Dialect::Responses)["response"]["incomplete_details"]["reason"].clone(),
            chat[chat.len() - 2]["choices"][0]["finish_reason"].clone(),
            last(Dialect::Gemini)["candidates"][0]["finishReason"].clone(),
        ];
        let whole = [
            Dialect::Anthropic.whole(&reply)["stop_reason"].clone(),
            Dialect::Responses.whole(&reply)["incomplete_details"]["reason"].clone(),
            Dialect::Chat.whole(&reply)["choices"][0]["finish_reason"].clone(),
            Dialect::Gemini.whole(&reply)["candidates"][0]["finishReason"].clone(),
        ];
        assert_eq!(streamed, whole);
        assert_eq!(last(Dialect::Responses)["type"], "response.incomplete");
        whole
    };
    assert_eq!(path(Stop::Length), ["max_tokens", "max_output_tokens", "length", "MAX_TOKENS"]);
    assert_eq!(path(Stop::Refusal), ["refusal", "content_filter", "content_filter", "SAFETY"]);
}
