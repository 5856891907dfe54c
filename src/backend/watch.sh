# Watches over the processes of a container that have $1 (NAME=value) in their environment, and over their groups. A line on
# standard input asks them to end; its end ends them, whoever closed it.
mark=$1
# One look at all of them, however many there are: their numbers.
marked() {
    grep -lzxF -- "$mark" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ process _; do echo "$process"; done
}
tell() {
    for process in $(marked); do
        { read -r line <"/proc/$process/stat"; } 2>/dev/null || continue
        # Behind the name, which stands in brackets and may hold anything: state, parent, group.
        # shellcheck disable=SC2086
        set -- "$1" ${line##*) }
        [ "${4:-0}" -gt 1 ] && kill "-$1" "-$4" 2>/dev/null
        kill "-$1" "$process" 2>/dev/null
    done
}
while read -r _; do tell TERM; done
tell TERM
looks=0
while [ -n "$(marked)" ] && [ "$looks" -lt 20 ]; do
    sleep 0.1
    looks=$((looks + 1))
done
tell KILL
