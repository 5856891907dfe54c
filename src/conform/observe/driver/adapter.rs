//! The adapter of a case: one process that is asked for verbs, several of them at once, until the case is over.
//!
//! A task of its own listens to it all the time, so that whoever asked only waits for the end of the ask. What the adapter
//! does wrong is its fault, in words, and whatever is open ends by it. Which words are right, `conform/adapter.rs` knows.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::Signal;
use tokio::select;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::chamber::Call;
use super::stage::Stage;
use super::verb::GRACE;
use crate::conform::spec::adapter::Dialogue;
use crate::conform::spec::{AdapterAnswer, AdapterAsk, Verb};
use crate::system::process::{Event, Piece, ProcessExit, Running, Talk};

/// How long one half of an ended adapter, its process or its standard output, may outlast the other.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How an ask ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Exit(u8),
    /// By the signal of this name, with or without `SIG`.
    Signal(String),
    /// Why there is no such thing.
    Unsupported(String),
    /// What the adapter did wrong.
    Fault(String),
}

/// An ask that somebody waits for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) verb: Verb,
    ending: oneshot::Receiver<Ending>,
    spoke: Arc<AtomicBool>,
    fate: Arc<Fate>,
}

/// What became of an adapter.
#[derive(Debug, Default)]
struct Fate {
    /// What it did wrong, first.
    fault: OnceLock<String>,
    /// The judge wants nothing more of it; what it does from then on is no fault.
    given_up: AtomicBool,
}

impl Fate {
    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

impl Asked {
    /// How it ended. May be dropped and called again, until it has said so.
    pub(super) async fn ended(&mut self) -> Ending {
        let ending = (&mut self.ending).await;
        ending.unwrap_or_else(|_| Ending::Fault("the adapter is gone".to_owned()))
    }

    /// Whether it was answered by any line.
    pub(super) fn spoke(&self) -> bool {
        self.spoke.load(Ordering::Relaxed)
    }

    /// Gives the adapter up: it is ended after the step, with everything below it, and another one begins afresh.
    pub(super) fn give_up(&self) {
        self.fate.given_up.store(true, Ordering::Relaxed);
    }
}

/// A running adapter.
#[derive(Debug)]
pub(super) struct Adapter {
    wishes: UnboundedSender<Wish>,
    listening: JoinHandle<()>,
    fate: Arc<Fate>,
    pid: u32,
}

/// An ask on its way; it has no number yet.
#[derive(Debug)]
struct Wish {
    ask: AdapterAsk,
    open: Open,
}

/// Whom the end of an ask is told.
#[derive(Debug)]
struct Open {
    ending: oneshot::Sender<Ending>,
    spoke: Arc<AtomicBool>,
}

impl Adapter {
    /// Starts it; what it says for the runtime goes to the stage.
    pub(super) async fn start(call: &Call, stage: &Arc<Stage>) -> io::Result<Self> {
        let (running, talk) = stage.chamber.converse(call).await?;
        let pid = running.group();
        let fate: Arc<Fate> = Arc::default();
        let (wishes, heard) = unbounded_channel();
        let listener = Listener {
            running,
            talk,
            exit: None,
            dialogue: Dialogue::new(),
            open: BTreeMap::new(),
            stage: Arc::clone(stage),
            fate: Arc::clone(&fate),
        };
        Ok(Self { wishes, listening: tokio::spawn(listener.listen(heard)), fate, pid })
    }

    /// Asks for a verb; the number of the ask is ours to give.
    pub(super) fn ask(&self, ask: AdapterAsk) -> Asked {
        let (sender, ending) = oneshot::channel();
        let spoke: Arc<AtomicBool> = Arc::default();
        let (verb, fate) = (ask.verb, Arc::clone(&self.fate));
        // The listener outlives its adapter, so that it can tell what was wrong.
        let _ = self.wishes.send(Wish { ask, open: Open { ending: sender, spoke: Arc::clone(&spoke) } });
        Asked { verb, ending, spoke, fate }
    }

    /// Its process, which is none of the runtime's; as its parent sees it.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it was at fault, or was given up.
    pub(super) fn is_done(&self) -> bool {
        self.fate.is_given_up() || self.fate.fault.get().is_some()
    }

    /// What it did wrong, unless it was given up.
    pub(super) fn fault(&self) -> Option<String> {
        self.fate.fault.get().filter(|_| !self.fate.is_given_up()).cloned()
    }

    /// Ends it: no more input, a grace, TERM, a grace, KILL; its own process, and nothing that it left. Says what it did wrong
    /// at last, if it did.
    pub(super) async fn end(self) -> Option<String> {
        let Self { wishes, listening, fate, .. } = self;
        drop(wishes);
        // Nobody cancels it.
        let _ = listening.await;
        fate.fault.get().filter(|_| !fate.is_given_up()).cloned()
    }
}

/// What listens to an adapter.
struct Listener {
    running: Running,
    talk: Talk,
    exit: Option<ProcessExit>,
    dialogue: Dialogue,
    open: BTreeMap<u64, Open>,
    stage: Arc<Stage>,
    fate: Arc<Fate>,
}

impl Listener {
    async fn listen(mut self, mut wishes: UnboundedReceiver<Wish>) {
        let Err(fault) = self.serve(&mut wishes).await else {
            self.let_go().await;
            return;
        };
        let fault = self.fate.fault.get_or_init(|| fault).clone();
        for open in std::mem::take(&mut self.open).into_values() {
            let _ = open.ending.send(Ending::Fault(fault.clone()));
        }
        while let Some(wish) = wishes.recv().await {
            let _ = wish.open.ending.send(Ending::Fault(fault.clone()));
        }
    }

    /// Asks and hears until nobody asks any more.
    ///
    /// # Errors
    /// What the adapter did wrong.
    async fn serve(&mut self, wishes: &mut UnboundedReceiver<Wish>) -> Result<(), String> {
        loop {
            select! {
                wish = wishes.recv() => match wish {
                    Some(wish) => self.ask(wish),
                    None => return Ok(()),
                },
                piece = self.talk.next() => match piece {
                    Some(piece) => self.hear(&piece)?,
                    None => return Err(self.gone().await),
                },
                event = self.running.next() => match event {
                    Event::Output(piece) => self.stage.hear(&piece),
                    Event::Ended(exit) => {
                        self.exit = Some(exit);
                        return Err(self.gone().await);
                    }
                },
            }
        }
    }

    fn ask(&mut self, wish: Wish) {
        let number = self.dialogue.ask(wish.ask.verb);
        let ask = AdapterAsk { ask: number, ..wish.ask };
        let mut line = serde_json::to_vec(&ask).expect("an ask is plain data");
        line.push(b'\n');
        self.open.insert(number, wish.open);
        self.talk.send(line);
    }

    fn hear(&mut self, piece: &Piece) -> Result<(), String> {
        let Some(answer) = self.dialogue.hear(&piece.bytes)? else { return Ok(()) };
        let number = answer.ask();
        if let Some(open) = self.open.get(&number) {
            open.spoke.store(true, Ordering::Relaxed);
        }
        let ending = match answer {
            AdapterAnswer::Said { text, .. } => {
                self.say(number, &text);
                return Ok(());
            }
            AdapterAnswer::State { state, .. } => {
                self.say(number, &serde_json::Value::Object(state).to_string());
                Ending::Exit(0)
            }
            AdapterAnswer::Exit { code, .. } => Ending::Exit(code),
            AdapterAnswer::Signal { name, .. } => Ending::Signal(name),
            AdapterAnswer::Unsupported { why, .. } => Ending::Unsupported(why),
        };
        if let Some(open) = self.open.remove(&number) {
            // Nobody may wait for it any more.
            let _ = open.ending.send(ending);
        }
        Ok(())
    }

    /// What the runtime shows goes where a command's output goes, and that of `halt` nowhere, as with commands.
    fn say(&self, number: u64, text: &str) {
        let unheard = matches!(self.dialogue.verb(number), Some(Verb::Halt | Verb::Kill));
        for line in text.lines().filter(|_| !unheard) {
            self.stage.say("stdout", line.to_owned());
        }
    }

    /// The adapter is gone, or its standard output is: hears what is left of it and says how it ended.
    async fn gone(&mut self) -> String {
        while let Ok(Some(piece)) = timeout(LAST_WORDS, self.talk.next()).await {
            if let Err(fault) = self.hear(&piece) {
                return fault;
            }
        }
        if self.exit.is_none() {
            self.exit = timeout(LAST_WORDS, self.ending()).await.ok();
        }
        let how = match &self.exit {
            Some(exit) => format!("the adapter ended ({exit})"),
            None => "the adapter closed its standard output".to_owned(),
        };
        let rest = self.dialogue.rest().map(|rest| format!("; {rest}")).unwrap_or_default();
        let open = self.dialogue.expected();
        format!("{how} before its standard input was closed{rest}; expected of it: {open}")
    }

    /// Its end; what it still says is heard.
    async fn ending(&mut self) -> ProcessExit {
        loop {
            match self.running.next().await {
                Event::Output(piece) => self.stage.hear(&piece),
                Event::Ended(exit) => return exit,
            }
        }
    }

    /// Closes its input and waits until it is gone; then asks it, then makes it.
    async fn let_go(&mut self) {
        self.talk.close();
        if timeout(GRACE, self.last_lines()).await.is_ok() {
            return;
        }
        for deadly in [Signal::TERM, Signal::KILL] {
            self.running.signal(deadly);
            if timeout(GRACE, self.last_lines()).await.is_ok() {
                return;
            }
        }
    }

    /// Hears the adapter until it is gone; a wrong line is a wrong line at the end, too.
    async fn last_lines(&mut self) {
        let mut silent = false;
        loop {
            select! {
                event = self.running.next() => match event {
                    Event::Output(piece) => self.stage.hear(&piece),
                    Event::Ended(_) => return,
                },
                piece = self.talk.next(), if !silent => match piece.map(|piece| self.hear(&piece)) {
                    Some(Ok(())) => {}
                    Some(Err(fault)) => _ = self.fate.fault.set(fault),
                    None => silent = true,
                },
            }
        }
    }
}
