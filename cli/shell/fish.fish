# Completion of roofcast in fish: the program itself says what fits, so nothing here goes stale.
# To try it: roofcast completion fish | source
function __roofcast_offers
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    for line in ($program completion words -- $before[2..-1] "$current" 2>/dev/null)
        if test "$line" = ":files"
            if string match -qr -- '^--[^=]+=' "$current"
                set -l flag (string replace -r -- '=.*' '=' "$current")
                for path in (__fish_complete_path (string replace -r -- '^[^=]+=' '' "$current"))
                    echo $flag$path
                end
            else
                __fish_complete_path "$current"
            end
        else
            echo $line
        end
    end
end
complete -c roofcast -f -a '(__roofcast_offers)'
