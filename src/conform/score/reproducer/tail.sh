sleep 1
left=$(residents)
show '' 'What happened:'
sed 's/^/  /' "$ROOT/log"
show '' 'What the runtime said:'
for out in "$ROOT"/out/*; do
    show "  [${out##*/}]"
    sed 's/^/  | /' "$out"
done
show '' 'What it left:'
for folder in "$ROOT"/workspace-*; do
    (cd "$folder" && find . -path ./.git -prune -o -type f -print | sort | sed "s|^\.|  ${folder##*/}|")
    for file in "$folder"/.loa-checkpoint/*.yaml; do
        [ -f "$file" ] || continue
        show "  [${file##*/}]"
        sed 's/^/  | /' "$file"
    done
done
for pid in $left; do
    show "  process $pid, still there: $({ tr '\0' ' ' < "/proc/$pid/cmdline"; } 2>/dev/null)"
done
sweep
show '' "It lies in $ROOT"
