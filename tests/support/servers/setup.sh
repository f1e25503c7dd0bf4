#!/usr/bin/env bash
# Builds the servers of the storage tests, once, into $PYHUDI_SERVERS_HOME (default
# ~/.cache/pyhudi-servers): versitygw (S3), fake-gcs-server, Azurite (Azure Blob) and Hadoop's
# MiniDFSCluster. What is there is kept. Arguments name the ones to build; without any, all.
# Two cores need about eight minutes, most of it Go's compiler; about 500 MB stay, and Go keeps
# a build cache of its own.
# Exit codes: 0 ready; 3 a tool is missing (the message says which), and the others are ready.
set -euo pipefail

readonly VERSITYGW=1.8.0 FAKE_GCS=1.56.1 AZURITE=3.37.0 HADOOP=3.3.4
readonly MAVEN_GET=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get
readonly MISSING=3

home="${PYHUDI_SERVERS_HOME:-$HOME/.cache/pyhudi-servers}"
status=0

lacks() { # tool, what it is for, how to get it
  command -v "$1" >/dev/null && return 1
  echo "servers: $2 needs $1, which is not on PATH; $3" >&2
  status=$MISSING
}

built() { # name, seconds since it began
  echo "servers: $1 is ready after $(($SECONDS - $2)) s" >&2
}

go_tool() { # name, version, module
  local place="$home/$1-$2" began=$SECONDS
  [ -x "$place/$1" ] && return
  lacks go "$1" "install Go 1.24 or newer" && return
  echo "servers: building $1 $2, up to four minutes" >&2
  mkdir -p "$place"
  # Elsewhere first: an interrupted build must not leave half a program under its name.
  GOBIN="$place/.building" nice -n 19 go install "$3@v$2"
  mv "$place/.building/$1" "$place/$1"
  rmdir "$place/.building"
  built "$1" "$began"
}

versitygw() { go_tool versitygw "$VERSITYGW" github.com/versity/versitygw/cmd/versitygw; }

fake-gcs-server() { go_tool fake-gcs-server "$FAKE_GCS" github.com/fsouza/fake-gcs-server; }

azurite() {
  local place="$home/azurite-$AZURITE" began=$SECONDS
  [ -x "$place/node_modules/.bin/azurite-blob" ] && return
  lacks npm azurite "install Node.js 20 or newer" && return
  echo "servers: installing azurite $AZURITE, about a minute" >&2
  nice -n 19 npm install --prefix "$place" --no-audit --no-fund --loglevel=error "azurite@$AZURITE" >&2
  built azurite "$began"
}

hadoop() {
  local place="$home/hadoop-$HADOOP" began=$SECONDS
  [ -s "$place/ready" ] && return
  lacks mvn "the MiniDFSCluster" "install Maven (Debian: apt install maven)" && return
  echo "servers: fetching the MiniDFSCluster of Hadoop $HADOOP, about 90 MB" >&2
  mkdir -p "$place"
  local artifact
  for artifact in \
    org.apache.hadoop:hadoop-client-minicluster:"$HADOOP" \
    org.apache.hadoop:hadoop-client-api:"$HADOOP" \
    org.apache.hadoop:hadoop-client-runtime:"$HADOOP" \
    org.slf4j:slf4j-api:1.7.36 org.slf4j:slf4j-reload4j:1.7.36 \
    ch.qos.reload4j:reload4j:1.2.22 commons-logging:commons-logging:1.2; do
    fetch "$artifact" "$place"
  done
  date -u > "$place/ready"
  built hadoop "$began"
}

fetch() { # group:artifact:version, folder
  local group="${1%%:*}" rest="${1#*:}"
  local name="${rest%%:*}" version="${rest##*:}"
  local repository="${MAVEN_REPOSITORY:-$HOME/.m2/repository}"
  local get=(mvn -q -B "-Dmaven.repo.local=$repository" "$MAVEN_GET" -Dtransitive=false "-Dartifact=$1")
  "${get[@]}" >&2 || { sleep 5; "${get[@]}" -U >&2; }
  cp "$repository/${group//.//}/$name/$version/$name-$version.jar" "$2/"
}

mkdir -p "$home"
for each in ${*:-versitygw azurite hadoop fake-gcs-server}; do
  "$each"
done
echo "servers: in $home" >&2
exit "$status"
