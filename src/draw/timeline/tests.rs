//! What stands in the picture.

use super::*;

fn bar(from: u64, to: u64, tone: Tone, tip: &str) -> Bar {
    Bar { from, to, tone, thin: false, text: String::new(), tip: tip.to_owned(), href: Some("#there".to_owned()) }
}

fn picture() -> Timeline {
    Timeline {
        title: "a run".to_owned(),
        description: "two lanes".to_owned(),
        end: 20_000,
        lanes: vec![
            Lane {
                name: "first".to_owned(),
                note: "2 s".to_owned(),
                bars: vec![bar(0, 10, Tone::Retry, "no"), bar(11, 20, Tone::Good, "yes")],
            },
            Lane { name: "second".to_owned(), note: String::new(), bars: vec![bar(15_000, 20_000, Tone::Bad, "x")] },
        ],
        marks: vec![Mark { at: 20_000, lane: 1, glyph: '!', tone: Tone::Bad, tip: "called".to_owned(), href: None }],
        links: vec![Link { from: (1, 16_000), to: (0, 17_000), tip: "again".to_owned() }],
        breaks: vec![Break { from: 1000, to: 15_000, tip: "nobody was there".to_owned() }],
    }
}

/// The numbers of an attribute, in the order of the picture, in elements with this in their tag.
fn numbers(svg: &str, tag: &str, attribute: &str) -> Vec<f64> {
    let of = |element: &str| {
        let (_, value) = element.split_once(&format!(" {attribute}=\""))?;
        value.split_once('"')?.0.parse().ok()
    };
    svg.split('<').filter(|element| element.contains(tag)).filter_map(of).collect()
}

#[test]
fn a_picture_says_in_words_what_it_shows() {
    let svg = picture().svg();
    for words in ["a run", "two lanes", "first", "second", "no", "yes", "called", "again", "nobody was there", "14 s"] {
        assert!(svg.contains(&format!(">{words}<")), "{words} is missing in\n{svg}");
    }
    assert_eq!(svg.matches("<a href=\"#there\"").count(), 3, "each bar can be reached by keyboard");
}

#[test]
fn bars_that_took_no_time_can_be_seen_and_lie_side_by_side() {
    let svg = picture().svg();
    let (x, width) = (numbers(&svg, "rect class=\"shape", "x"), numbers(&svg, "rect class=\"shape", "width"));
    assert!(width.iter().all(|width| *width >= LEAST), "{width:?}");
    assert!(x[1] >= x[0] + width[0], "{x:?} {width:?}");
    assert!(x.iter().zip(&width).all(|(x, width)| x + width <= WIDTH), "{x:?} {width:?}");
}

#[test]
fn marks_of_one_moment_do_not_cover_each_other() {
    let mut picture = picture();
    picture.marks = vec![picture.marks[0].clone(); 3];
    let x = numbers(&picture.svg(), "circle", "cx");
    assert!(x.windows(2).all(|pair| pair[1] - pair[0] >= 15.0), "{x:?}");
}

#[test]
fn text_of_others_cannot_become_markup() {
    let mut picture = picture();
    picture.lanes[0].bars[0].tip = "</a><script>\"&\u{1b}[31m".to_owned();
    picture.lanes[0].name = "<b>".to_owned();
    let svg = picture.svg();
    assert!(!svg.contains("<script>") && !svg.contains("<b>") && !svg.contains('\u{1b}'), "{svg}");
    assert!(svg.contains("&lt;/a&gt;&lt;script&gt;&quot;&amp;\u{fffd}[31m"), "{svg}");
}

#[test]
fn an_empty_picture_is_a_picture() {
    let empty =
        Timeline { end: 0, lanes: Vec::new(), marks: Vec::new(), links: Vec::new(), breaks: Vec::new(), ..picture() };
    let svg = empty.svg();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}
