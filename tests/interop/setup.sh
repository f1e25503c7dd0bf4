#!/usr/bin/env bash
# Prepares real Apache Hudi for the interop tests: a Python with pyspark 3.5 and the Hudi bundles from
# Maven Central, under $PYHUDI_ORACLE_HOME (default ~/.cache/pyhudi-oracle, about 800 MB).
# Safe to repeat: whatever is already there is kept. `--peers` adds Delta and Iceberg.
# Exit codes: 0 ready; 3 a prerequisite (Java, Maven, a Python) is missing and the message says which.
set -euo pipefail

readonly SPARK_VERSION=3.5.8
readonly BUNDLE_VERSIONS="0.15.0 1.0.2 1.1.1 1.2.0"
readonly MAVEN_GET=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get
readonly MISSING=3

home="${PYHUDI_ORACLE_HOME:-$HOME/.cache/pyhudi-oracle}"
jars="$home/jars"
python="$home/venv/bin/python"

missing() {
  echo "interop: $1" >&2
  exit "$MISSING"
}

java_major() {
  local java="java"
  [ -n "${JAVA_HOME:-}" ] && java="$JAVA_HOME/bin/java"
  "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

require_java() {
  case "$(java_major || true)" in
    17 | 21) ;;
    "") missing "no Java found; install a JDK 17 (Debian: apt install openjdk-17-jdk-headless) or point JAVA_HOME at one" ;;
    *) missing "Java $(java_major) found, Spark $SPARK_VERSION wants 17; point JAVA_HOME at a JDK 17" ;;
  esac
}

# pyspark 3.5 has no release for Python 3.13 and newer.
base_python() {
  local candidate
  for candidate in "${PYHUDI_ORACLE_PYTHON:-}" python3.11 python3.10 python3.12 python3; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  missing "pyspark $SPARK_VERSION needs Python 3.10 to 3.12 with venv; set PYHUDI_ORACLE_PYTHON to one"
}

prepare_python() {
  if "$python" -c 'import pyspark, pyarrow, pandas, fastavro, numpy, pytest, hypothesis, setuptools, moto, obstore
assert pyspark.__version__ == "'"$SPARK_VERSION"'"' 2>/dev/null; then
    return
  fi
  local base
  base="$(base_python)"
  echo "interop: installing pyspark $SPARK_VERSION into $home/venv" >&2
  [ -x "$python" ] || "$base" -m venv "$home/venv"
  # setuptools below 81 still has pkg_resources, and distutils for pyspark on Python 3.12.
  "$python" -m pip install --quiet --disable-pip-version-check \
    "pyspark==$SPARK_VERSION" 'pandas<3' pyarrow fastavro numpy 'setuptools<81' pytest hypothesis \
    'moto[server]>=5.2,<6' 'obstore>=0.12,<0.13'
}

fetch() { # group artifact version
  local file="$2-$3.jar"
  [ -s "$jars/$file" ] && return
  command -v mvn >/dev/null || missing "no Maven found to fetch $file; install one (Debian: apt install maven) or put the file into $jars"
  echo "interop: fetching $file" >&2
  local repository="${MAVEN_REPOSITORY:-$HOME/.m2/repository}"
  local get=(mvn -q -B "-Dmaven.repo.local=$repository" "$MAVEN_GET" -Dtransitive=false "-Dartifact=$1:$2:$3")
  "${get[@]}" >&2 || { sleep 5; "${get[@]}" -U >&2; }
  # Copied beside its place first: an interrupted run must not leave half a jar under the final name.
  cp "$repository/${1//.//}/$2/$3/$file" "$jars/.$file.$$"
  mv "$jars/.$file.$$" "$jars/$file"
}

require_java
mkdir -p "$jars"
prepare_python
for version in $BUNDLE_VERSIONS; do
  fetch org.apache.hudi hudi-spark3.5-bundle_2.12 "$version"
done
if [ "${1:-}" = "--peers" ]; then
  fetch io.delta delta-spark_2.12 3.3.2
  fetch io.delta delta-storage 3.3.2
  fetch org.apache.iceberg iceberg-spark-runtime-3.5_2.12 1.10.0
fi
echo "interop: ready in $home" >&2
