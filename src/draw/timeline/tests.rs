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

/// A night of a thousand loops: two lanes that take turns, a mark for each and a link for each.
fn crowded(loops: u64) -> Timeline {
    let lane = |name: &str, offset: u64| Lane {
        name: name.to_owned(),
        note: "16 h 40 min".to_owned(),
        bars: (0..loops).map(|n| bar(n * 60 + offset, n * 60 + offset + 29, Tone::Retry, "no")).collect(),
    };
    let mark = |n: u64| Mark { at: n * 60, lane: 0, glyph: '▼', tone: Tone::Note, tip: "m".to_owned(), href: None };
    Timeline {
        title: "a night".to_owned(),
        description: "two lanes".to_owned(),
        end: loops * 60,
        lanes: vec![lane("implementation", 0), lane("audit", 30)],
        marks: (0..loops).map(mark).collect(),
        links: (1..loops).map(|n| Link { from: (1, n * 60 - 1), to: (0, n * 60), tip: "again".to_owned() }).collect(),
        breaks: Vec::new(),
    }
}

#[test]
fn a_thousand_loops_paint_over_nothing_and_each_is_counted() {
    let svg = crowded(1000).svg();
    for lane in 0..2 {
        let y = format!(" y=\"{:.1}\"", top_of(lane) + MIDDLE - BAR / 2.0);
        let bars: Vec<&str> = svg.split("<rect class=\"shape").skip(1).filter(|it| it.contains(&y)).collect();
        let number = |element: &str, name: &str| numbers(&format!("<rect{element}"), "rect", name)[0];
        let places: Vec<(f64, f64)> = bars.iter().map(|it| (number(it, "x"), number(it, "width"))).collect();
        assert!(places.len() > 10, "its course can still be seen: {places:?}");
        assert!(places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0 + 0.1), "{places:?}");
        assert!(places.iter().all(|(x, width)| *x >= LEFT && x + width <= RIGHT + LEAST), "{places:?}");
        // In words also where a label has no room.
        let said = svg.split("<title>").filter(|it| it.contains("<rect class=\"shape") && it.contains(&y));
        let count = |it: &str| it.split_once(" in a row").map_or(Some(1), |(count, _)| count.parse::<u64>().ok());
        assert_eq!(said.filter_map(count).sum::<u64>(), 1000);
    }
    let marks = numbers(&svg, "circle", "cx");
    assert!(marks.len() > 10 && marks.windows(2).all(|two| two[1] - two[0] >= MARK - 0.1), "{marks:?}");
    assert!(svg.matches("class=\"link\"").count() < 60);
}

#[test]
fn cuts_that_are_too_narrow_for_their_labels_have_none() {
    let mut picture = crowded(100);
    let labels = picture.svg().matches("class=\"faint\"").count();
    picture.breaks = (1..100).map(|n| Break { from: n * 60 - 5, to: n * 60, tip: "gone".to_owned() }).collect();
    assert!(picture.svg().matches("class=\"faint\"").count() <= labels);
    assert_eq!(picture.svg().matches("class=\"cut\"").count(), 99);
}

#[test]
fn few_loops_are_drawn_each_for_itself() {
    let svg = crowded(10).svg();
    assert_eq!(svg.matches("<rect class=\"shape").count(), 20);
    assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"link\"").count()), (10, 9));
}
