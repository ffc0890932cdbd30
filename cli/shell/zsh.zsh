#compdef roofcast
# Completion of roofcast in zsh: the program itself says what fits, so nothing here goes stale.
# To try it: source <(roofcast completion zsh)
_roofcast() {
  local -a lines offers
  local line files=
  lines=("${(@f)$(${(Q)words[1]} completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    case $line in
      :files) files=1 ;;
      ?*) offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  ((${#offers})) && _describe 'roofcast' offers
  if [[ -n $files ]]; then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files
  fi
}
if [[ ${funcstack[1]} == _roofcast ]]; then
  _roofcast "$@"
else
  compdef _roofcast roofcast
fi
