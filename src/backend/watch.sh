# Watches over the processes of a container that have $1 (NAME=value) in their environment, and over their groups. A line on
# standard input asks them to end; its end ends them, whoever closed it.
mark=$1
marked() {
    for process in /proc/[0-9]*; do
        { tr '\0' '\n' <"$process/environ" | grep -qxF -- "$mark"; } 2>/dev/null && echo "${process#/proc/}"
    done
}
tell() {
    for process in $(marked); do
        { read -r line <"/proc/$process/stat"; } 2>/dev/null || continue
        # Behind the name, which stands in brackets and may hold anything: state, parent, group.
        # shellcheck disable=SC2086
        set -- "$1" ${line##*) }
        [ "${4:-0}" -gt 1 ] && kill -s "$1" -- "-$4" 2>/dev/null
        kill -s "$1" "$process" 2>/dev/null
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
