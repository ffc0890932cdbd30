# Completion of roofcast in bash: the program itself says what fits, so nothing here goes stale.
# To try it: source <(roofcast completion bash)
_roofcast() {
  local command=${COMP_WORDS[0]/#\~/$HOME} words=() word line before files=
  local i
  # bash cuts words at = and :, which belong to them here.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == [=:]* || ${COMP_WORDS[i - 1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  COMPREPLY=()
  word=${words[-1]}
  # What stands before the part that bash replaces.
  before=${word%"$2"}
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=1
      continue
    fi
    line=${line%%$'\t'*}
    COMPREPLY+=("${line#"$before"}")
  done < <("$command" completion words -- "${words[@]}" 2>/dev/null)
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$2")
  fi
}
complete -F _roofcast roofcast
