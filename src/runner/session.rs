//! The identity of a session, by which its processes are known.

use crate::contract::SessionId;
use crate::system::ids;

/// The variable that marks every process of a session.
pub(super) const SESSION_VARIABLE: &str = "LOA_SESSION_ID";

/// The name of a session that begins now.
pub(super) fn new_session() -> SessionId {
    SessionId::new(ids::session()).expect("a fresh id is not empty")
}
