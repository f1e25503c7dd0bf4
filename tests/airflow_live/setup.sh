#!/usr/bin/env bash
# Gets what the tests of a live Airflow need beyond pip: Chromium, and PostgreSQL where neither
# Debian's nor the wheel pgserver is there. From Debian's packages, by apt, as root. Safe to repeat:
# what is there is kept. Takes the Python of the tests as its argument (default .venv/bin/python).
# Exit codes: 0 ready; 3 something is missing that cannot be got here, and the message says what.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly MISSING=3
python="${1:-.venv/bin/python}"
log="${PYHUDI_LIVE_HOME:-$HOME/.cache/pyhudi-live}/apt.log"

cannot() {
  echo "live: $1" >&2
  exit "$MISSING"
}

missing() { # Debian's packages, in one line
  "$python" -m tests.airflow_live.prerequisites
}

wanted="$(missing)"
[ -n "$wanted" ] || exit 0

command -v apt-get >/dev/null || cannot "$wanted is missing and there is no apt-get here; install it and put it on PATH"
[ "$(id -u)" = 0 ] || cannot "$wanted is missing and only root may install it: sudo apt-get install $wanted"

echo "live: installing $wanted, about half a minute" >&2
mkdir -p "$(dirname "$log")"
export DEBIAN_FRONTEND=noninteractive
# Another apt may hold the lock for a while; a mirror may fail once.
apt=(apt-get -y -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
{
  "${apt[@]}" update &&
    # Debian's PostgreSQL would start a server of its own, on the port that everyone knows.
    # shellcheck disable=SC2086
    RUNLEVEL=1 "${apt[@]}" install --no-install-recommends $wanted
} >"$log" 2>&1 </dev/null || {
  tail -n 5 "$log" >&2
  cannot "apt-get could not install $wanted; all it said is in $log"
}

wanted="$(missing)"
[ -z "$wanted" ] || cannot "$wanted was installed and is still not found"
echo "live: ready" >&2
