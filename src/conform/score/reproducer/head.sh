set -u
ROOT=${1:-$(mktemp -d)}
mkdir -p "$ROOT" && ROOT=$(cd "$ROOT" && pwd) || exit 74
[ -z "$(ls -A "$ROOT")" ] || { echo "$ROOT is not empty" >&2; exit 64; }
mkdir "$ROOT/home" "$ROOT/tmp" "$ROOT/phases" "$ROOT/count" "$ROOT/out"
NUMBER=0
STEP=0

show() { printf '%s\n' "$@"; }
log() { echo "$(date '+%H:%M:%S.%N' | cut -c1-12)  $*" >> "$ROOT/log"; }
lay() { mkdir -p "$(dirname "$1")" && printf '%s' "$2" > "$1"; }
# As one word of a shell.
quoted() { printf "'"; printf '%s' "$1" | sed "s/'/'\\\\''/g"; printf "'"; }
# As the inside of a text of JSON.
spelt() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
phase() {
    { printf '#!/bin/sh\nROOT=%s\nPHASE=%s\n' "$(quoted "$ROOT")" "$1"; printf '%s\n%s' "$HEAD" "$2"; } > "$ROOT/phases/$1"
    chmod +x "$ROOT/phases/$1"
}
plan() {
    separator=
    printf '{"phases":[' > "$ROOT/plan.json"
    for id in preflight discovery design implementation audit submit deploy learning; do
        printf '%s{"id":"%s","command":["%s/phases/%s"]}' "$separator" "$id" "$(spelt "$ROOT")" "$id" >> "$ROOT/plan.json"
        separator=,
    done
    printf ']}\n' >> "$ROOT/plan.json"
}
# A fresh workspace: a repository with one commit.
fresh() {
    WORKSPACE=$ROOT/workspace-$NUMBER
    NUMBER=$((NUMBER + 1))
    mkdir "$WORKSPACE"
    echo "$WORKSPACE" > "$ROOT/workspace"
    files
    (cd "$WORKSPACE" && HOME=$ROOT/home && export HOME && git init -q && git add -A && git commit -q -m 'The workspace')
}
# Replaces top-level keys of a YAML mapping: file, keys that go, lines that come.
edit() {
    [ -f "$1" ] || return 0
    awk -v gone=" $2 " '/^[^ #-]/ { key = $0; sub(/:.*/, "", key); cut = index(gone, " " key " ") } !cut' "$1" > "$1.new"
    printf '%s' "$3" >> "$1.new"
    mv "$1.new" "$1"
}
# Processes of this run, where the system tells whose a process is.
residents() {
    for environ in /proc/[0-9]*/environ; do
        if { tr '\0' '\n' < "$environ"; } 2>/dev/null | grep -qxF "WORKSPACE_MARK=$ROOT"; then
            pid=${environ#/proc/}
            echo "${pid%/environ}"
        fi
    done
}
# Ends what a killed runtime left behind.
sweep() {
    for resident in $(residents); do
        kill -KILL "$resident" 2>/dev/null
    done
}
# Starts a verb: its name, what is done to it while which phase is at work, its words.
verb() {
    name=$1 how=$2 during=$3
    shift 3
    rm -f "$ROOT"/reached-*
    log "step $STEP: $name"
    (cd "$WORKSPACE" && given "$@") > "$ROOT/out/$STEP-$name" 2>&1 < /dev/null &
    pid=$!
    waited=0
    while kill -0 "$pid" 2>/dev/null; do
        if [ -n "$how" ] && [ -e "$ROOT/reached-$during" ]; then
            log "step $STEP: $how while $during is at work"
            case $how in
            kill) sweep; kill -KILL "$pid" 2>/dev/null ;;
            halt) (cd "$WORKSPACE" && halting) >> "$ROOT/out/$STEP-halt" 2>&1 < /dev/null ;;
            esac
            how=
        fi
        if [ "$waited" -ge $((BUDGET * 10)) ]; then
            log "step $STEP: its time is over"
            sweep
            kill -KILL "$pid" 2>/dev/null
        fi
        sleep 0.1
        waited=$((waited + 1))
    done
    wait "$pid"
    log "step $STEP: $name ended with $?"
}

