PATH=/usr/local/bin:/usr/bin:/bin
WORKSPACE=$(cat "$ROOT/workspace")
n=$(($(cat "$ROOT/count/$PHASE" 2>/dev/null || echo 0) + 1))
echo "$n" > "$ROOT/count/$PHASE"
log() { echo "$(date '+%H:%M:%S.%N' | cut -c1-12)  $*" >> "$ROOT/log"; }
reached() { : > "$ROOT/reached-$PHASE"; }
ends() { reached; log "$PHASE, attempt $n, ends with $1"; exit "$1"; }
dies() { reached; log "$PHASE, attempt $n, dies by $1"; kill -"$1" $$; sleep 1; exit 70; }
hangs() { reached; log "$PHASE, attempt $n, hangs"; while :; do sleep 1; done; }
lay() { mkdir -p "$(dirname "$1")" && printf '%s' "$2" > "$1"; }
result() { [ -z "${LOA_RESULT_FILE:-}" ] || lay "$LOA_RESULT_FILE" "$1"; }
signal() { [ -z "${LOA_SIGNAL_FILE:-}" ] || printf '%s\n' "$1" >> "$LOA_SIGNAL_FILE"; }
log "$PHASE starts, attempt $n"
