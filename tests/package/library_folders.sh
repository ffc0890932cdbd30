#!/bin/sh
# Every folder in which the loader looks for a program's libraries is an absolute one: an empty or
# relative element of its RPATH or RUNPATH would be a folder of whoever starts it.
#   library_folders.sh PROGRAM
command -v readelf >/dev/null || { echo "needs readelf"; exit 77; }
paths=$(LC_ALL=C readelf -d "$1" | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]/\2/p')
[ -n "$paths" ] || exit 0
case ":$paths:" in
  *::*) echo "$1: an empty element in '$paths'"; exit 1 ;;
esac
echo "$paths" | tr ':' '\n' | while read -r folder; do
  case $folder in
    /* | '$ORIGIN' | '$ORIGIN/'*) ;;
    *) echo "$1: '$folder' is relative"; exit 1 ;;
  esac
done
