# SPDX-License-Identifier: MIT
# Completion of the command weft for bash. Commands and options are those that `weft help` shows, so a new one needs
# no change here.
_weft() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD - 1]} words
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 || ($COMP_CWORD -eq 2 && $command == help) ]]; then
        words=$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  weft \([a-z][a-z]*\).*/\1/p' | sort -u)
        [[ $COMP_CWORD -eq 2 ]] || words+=" help --help --version"
    elif [[ $word == -* ]]; then
        words=$("${COMP_WORDS[0]}" help "$command" 2>/dev/null | grep -oE -- '(^|[ ,[])--?[A-Za-z][a-z-]*' | tr -d ' ,[')
    elif [[ $command == bench && $COMP_CWORD -eq 2 ]]; then
        words="list $("${COMP_WORDS[0]}" bench list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\)  *[^ ].*/\1/p')"
    elif [[ $command == report && $before == --only ]]; then
        words="000 001 002 003 004 $("${COMP_WORDS[0]}" report --list 2>/dev/null | sed 's/ .*//')"
    elif [[ $command == @(dump|explain|profile|top|trace) && $before != -* ]]; then
        words=$(cd /proc && ls -d [0-9]* 2>/dev/null)
    elif [[ $command == load && $COMP_CWORD -eq 2 ]]; then
        words="http https memcached echo"
    fi
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    else
        compopt -o default 2>/dev/null # files and directories
    fi
}
complete -F _weft weft
