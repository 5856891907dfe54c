#!/bin/sh
# One phase of the swept run. It notes its start and its end in a journal outside the workspace, which no crash of the
# runtime can take back, and misbehaves as the scene wants it: design fails twice, audit fails once, submit leaves
# processes behind that left its group.
id=$1
ended() { grep -c "^end $id " "$JOURNAL"; }
echo "start $id $LOA_ATTEMPT $LOA_EXECUTION_ID" >> "$JOURNAL"
code=0
case $id in
discovery) echo '{"type":"USAGE","context_tokens":90000}' >> "$LOA_SIGNAL_FILE" ;;
design) [ "$(ended)" -ge 2 ] || code=1 ;;
audit)
    if [ "$(ended)" -lt 1 ]; then
        code=1
        echo '{"findings":[{"id":"F-1","severity":"high","category":"bug","description":"d"}]}' > "$LOA_RESULT_FILE"
    fi
    ;;
submit)
    setsid sleep 600 > /dev/null 2>&1 &
    nohup sleep 600 > /dev/null 2>&1 &
    (setsid sh -c 'sleep 600 & sleep 600' > /dev/null 2>&1 &)
    ;;
esac
echo "end $id $code $LOA_EXECUTION_ID" >> "$JOURNAL"
exit "$code"
