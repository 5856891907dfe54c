# Stands for a coding agent. Its first attempt is wrong, as that of a real one may be.
case "$LOA_PHASE" in
implementation)
    if [ "$LOA_ATTEMPT" = 1 ]; then
        echo 'echo "Hello!"' > greet.sh
    else
        echo 'echo "Hello, $1!"' > greet.sh
    fi
    echo "I wrote greet.sh, and I am sure that it is right."
    ;;
audit)
    echo "greet.sh does what TASK.md says." > audit.md
    echo "I wrote audit.md."
    ;;
esac
