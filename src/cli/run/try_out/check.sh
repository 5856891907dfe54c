# The gate of the implementation: a program decides, and not the agent's word.
said=$(sh ./greet.sh Ada)
if [ "$said" != "Hello, Ada!" ]; then
    echo "greet.sh says '$said' and not 'Hello, Ada!'" >&2
    exit 1
fi
