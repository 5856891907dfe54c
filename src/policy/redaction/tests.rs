use super::*;

/// Put together here, so that no scanner takes this file for a leak.
fn secret(prefix: &str, length: usize) -> String {
    let body: String = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7".chars().cycle().take(length).collect();
    format!("{prefix}{body}")
}

fn capital(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", secret("", length).to_ascii_uppercase())
}

fn known_secrets() -> Vec<(&'static str, String)> {
    vec![
        ("api-key", secret("sk-", 48)),
        ("api-key", secret("sk-ant-api03-", 80)),
        ("api-key", secret("sk-proj-", 20)),
        ("api-key", format!("sk-{}", "AbCdEfGhIjKlMnOpQrSt".repeat(2))),
        ("api-key", format!("sk-{}", "abcdefghijklmnopqrstuvwxyz")),
        ("api-key", secret("sk_live_", 24)),
        ("api-key", secret("rk_test_", 24)),
        ("hugging-face-token", secret("hf_", 34)),
        ("google-token", secret("ya29.", 60)),
        ("github-token", secret("ghp_", 36)),
        ("github-token", secret("ghs_", 40)),
        ("github-token", secret("github_pat_", 60)),
        ("gitlab-token", secret("glpat-", 20)),
        ("aws-key", capital("AKIA", 16)),
        ("aws-key", capital("ASIA", 16)),
        ("google-key", secret("AIza", 35)),
        ("slack-token", secret("xoxb-", 30)),
        ("npm-token", secret("npm_", 36)),
        ("jwt", format!("{}.{}.{}", secret("eyJ", 30), secret("eyJ", 90), secret("", 43))),
    ]
}

#[test]
fn known_shapes_are_taken_out_wherever_they_stand() {
    let redactor = Redactor::default();
    for (kind, secret) in known_secrets() {
        for (before, after) in [("", ""), ("key=", "\n"), ("\"", "\","), ("url: https://x/?t=", "&y"), ("é ", " ü\n")]
        {
            let redacted = redactor.text(&format!("{before}{secret}{after}"));
            assert_eq!(redacted, format!("{before}[REDACTED:{kind}]{after}"), "{secret}");
        }
    }
    let bearer = format!("authorization: Bearer {} ok", secret("", 24));
    assert_eq!(redactor.text(&bearer), "authorization: Bearer [REDACTED:bearer] ok");
    for basic in ["Basic bWU6cHc=", "basic bWU6aHVudGVyMg==", "Basic bWU6aHVudGVyMg"] {
        let redacted = redactor.text(&format!("curl -H 'Authorization: {basic}' x"));
        assert_eq!(redacted, format!("curl -H 'Authorization: {} [REDACTED:basic]' x", &basic[..5]));
    }
}

#[test]
fn a_password_is_known_by_what_stands_beside_it() {
    let redactor = Redactor::default();
    let key = secret("", 40);
    for (text, redacted) in [
        ("password=hunter2!", "password=[REDACTED:password]"),
        ("DB_PASSWORD='hunter2!' next", "DB_PASSWORD='[REDACTED:password]' next"),
        ("a=1&passwd=hunter2!&b=2", "a=1&passwd=[REDACTED:password]&b=2"),
        ("postgres://me:hunter2@db:5432/x failed", "postgres://me:[REDACTED:password]@db:5432/x failed"),
        ("(redis://:p@cache)", "(redis://:[REDACTED:password]@cache)"),
        ("https://me:pass@example.org", "https://me:[REDACTED:password]@example.org"),
        (r"https:\/\/me:pass@example.org", r"https:\/\/me:[REDACTED:password]@example.org"),
        (&format!(r#"{{\"SecretAccessKey\": \"{key}\"}}"#), r#"{\"SecretAccessKey\": \"[REDACTED:secret-key]\"}"#),
        (&format!("aws_secret_access_key={key}"), "aws_secret_access_key=[REDACTED:secret-key]"),
        (&format!("AWS_SECRET_ACCESS_KEY = \"{key}\""), "AWS_SECRET_ACCESS_KEY = \"[REDACTED:secret-key]\""),
    ] {
        assert_eq!(redactor.text(text), redacted);
        assert_eq!(redactor.text(&redactor.text(text)), redacted, "once is enough");
    }
    for text in [
        "password=$DB_PASSWORD",
        "password=<yours>",
        "password=",
        "password: see the vault",
        "no password=1 here",
        "http://localhost:8080/x?to=me@example.org",
        "git@example.org:me/mine.git and https://me@example.org/mine",
        "postgres://me:$PASSWORD@db/x",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn what_only_looks_random_stays() {
    let redactor = Redactor::default();
    for text in [
        "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12 on main",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "job 3f2a9c10-abcd-4bcd-8bcd-abcdefabcdef ended",
        "exec-20260131-abc123def456, session-0123456789abcdef0123456789abcdef",
        "task-2026-01-31-implement-the-parser-of-plans",
        "ask-for-permission-before-running-2-commands",
        "sk-fading-circle-animation-of-spinkit",
        "sk-1",
        "the bearer of-this-message-may-pass-the-gate",
        "Basic authentication failed; basic understanding of internationalization",
        "sk-internationalization-of-everything",
        "ghp_short AKIASHORT xoxb-no eyJ.eyJ.x glpat-x",
        "AKIAaaaaaaaaaaaaaaaaaaaa",
        "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1.2.3.4.5.6.7.8.9",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "",
        "\n\n",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn a_private_key_goes_with_its_lines_and_what_follows_stays() {
    let redactor = Redactor::default();
    let key = |kind: &str| {
        format!("-----BEGIN {kind}PRIVATE KEY-----\nMIIEvQIBADANBg+/\nkqhkiG9w0BAQ==\n-----END {kind}PRIVATE KEY-----")
    };
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let text = format!("before\n{}\nafter commit 2fd4e1c6\n", key(kind));
        assert_eq!(redactor.text(&text), "before\n[REDACTED:private-key]\n\nafter commit 2fd4e1c6\n", "{kind}");
    }
    let in_json = format!("{{\"key\":\"{}\",\"id\":7}}", key("").replace('\n', "\\n"));
    assert_eq!(redactor.text(&in_json), "{\"key\":\"[REDACTED:private-key]\",\"id\":7}");
    let begun = "grep -r '-----BEGIN PRIVATE KEY-----' .\nnothing was found\nMII\n";
    assert_eq!(redactor.text(begun), "grep -r '[REDACTED:private-key]\nnothing was found\nMII\n", "a mere mention");
}

#[test]
fn named_values_go_by_their_names_the_longest_first() {
    let pem = "first line of it\n  second line\nx";
    let redactor =
        Redactor::new([("SHORT", "12345"), ("PART", "hunter2!"), ("WHOLE", "hunter2!hunter3"), ("PEM", pem)]);
    for (text, expected) in [
        ("pass hunter2!", "pass [REDACTED:$PART]"),
        ("hunter2!hunter3 hunter2!", "[REDACTED:$WHOLE] [REDACTED:$PART]"),
        ("12345", "12345"),
        ("a second line of x", "a [REDACTED:$PEM] of x"),
    ] {
        assert_eq!(redactor.text(text), expected);
    }
    assert!(!format!("{redactor:?}").contains("hunter"), "{redactor:?}");
}

#[test]
fn a_secret_is_found_however_the_stream_is_cut() {
    let redactor = Redactor::new([("PASSWORD", "correct horse battery")]);
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg+/\n-----END PRIVATE KEY-----";
    let secrets: Vec<String> = known_secrets().into_iter().map(|(_, secret)| secret).collect();
    let text = format!("a {}\nb correct horse battery c\n{key}\nBearer {} end", secrets.join(" x\n"), secret("", 30));
    let whole = redactor.text(&text);
    for size in [1, 2, 3, 7, 16, 50, 400] {
        let mut stream = RedactedStream::default();
        let mut streamed = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            streamed.extend(stream.push(&redactor, piece));
        }
        streamed.extend(stream.finish(&redactor));
        assert_eq!(String::from_utf8_lossy(&streamed), whole, "in pieces of {size}");
    }
    assert!(secrets.iter().all(|secret| !whole.contains(secret.as_str())) && !whole.contains("MIIE"), "{whole}");
}

#[test]
fn a_line_without_end_is_held_within_bounds_and_its_secrets_are_found() {
    let redactor = Redactor::default();
    let token = secret("ghp_", 36);
    let mut stream = RedactedStream::default();
    let (mut out, mut given, mut longest) = (Vec::new(), 0, 0);
    for number in 0..4000 {
        // Words of many lengths, so that cuts fall everywhere.
        let words = format!("{} {token} ", "w".repeat(number % 97));
        given += words.len();
        out.extend(stream.push(&redactor, words.as_bytes()));
        longest = longest.max(stream.held.len());
    }
    out.extend(stream.finish(&redactor));
    let text = String::from_utf8_lossy(&out);
    assert_eq!(text.matches("[REDACTED:github-token]").count(), 4000);
    assert!(!text.contains("ghp_") && longest <= LONGEST_LINE && given > 2 * LONGEST_LINE);
    let blob = vec![b'A'; 3 * LONGEST_LINE];
    let mut stream = RedactedStream::default();
    let mut out = stream.push(&redactor, &blob);
    out.extend(stream.finish(&redactor));
    assert!(out == blob, "a long word that is no secret passes whole");
}

#[test]
fn bytes_that_are_no_text_pass_as_they_are() {
    let redactor = Redactor::new([("NAME", "secret-value")]);
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let mut stream = RedactedStream::default();
    let mut out = stream.push(&redactor, &bytes);
    out.extend(stream.finish(&redactor));
    assert_eq!(out, bytes);
}

#[test]
fn the_key_beside_its_id_goes_with_it() {
    let redactor = Redactor::default();
    let (id, key) = (capital("AKIA", 16), secret("", 40));
    for text in [format!("{id},{key}\n"), format!("{id}\n{key}\n"), format!("id {id} key {key} and {key}\n")] {
        let redacted = redactor.text(&text);
        assert!(redacted.contains("[REDACTED:secret-key]") && !redacted.contains(&key[..20]), "{redacted}");
    }
    for text in [format!("{key}\n"), format!("AKIA\n{key}\n"), "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12\n".to_owned()]
    {
        assert_eq!(redactor.text(&text), text);
    }
    let commit = format!("{id} 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12");
    assert!(redactor.text(&commit).ends_with(" 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"), "a commit");
}
