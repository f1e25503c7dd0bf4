#!/usr/bin/env bash
# Fetches Hadoop's S3A for the Spark of this environment into $PYHUDI_S3A_JARS (default
# ~/.cache/pyhudi-s3a/jars, about 30 MB), by parts of AWS's SDK in place of its bundle of 640 MB.
# Safe to repeat. Exit codes: 0 ready; 3 Maven is missing.
set -euo pipefail

readonly HADOOP=3.5.0 SDK=2.35.4 ANALYTICS=1.3.1
readonly PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.6.1

jars="${PYHUDI_S3A_JARS:-$HOME/.cache/pyhudi-s3a/jars}"
[ -s "$jars/hadoop-aws-$HADOOP.jar" ] && exit 0
command -v mvn >/dev/null || { echo "interop: no Maven found to fetch S3A; install one (Debian: apt install maven)" >&2; exit 3; }

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
dependency() { # group artifact version, whether its own dependencies are left out
  echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>"
  [ "$4" = alone ] && echo "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
  echo "</dependency>"
}
{
  echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
  echo '<groupId>s3a</groupId><artifactId>s3a</artifactId><version>1</version><dependencies>'
  dependency org.apache.hadoop hadoop-aws "$HADOOP" alone
  dependency software.amazon.s3.analyticsaccelerator analyticsaccelerator-s3 "$ANALYTICS" alone
  for part in s3 s3-transfer-manager sts apache-client; do
    dependency software.amazon.awssdk "$part" "$SDK" whole
  done
  echo '</dependencies></project>'
} >"$folder/pom.xml"
mvn -q -B -f "$folder/pom.xml" "-Dmaven.repo.local=${MAVEN_REPOSITORY:-$HOME/.m2/repository}" \
  "$PLUGIN:copy-dependencies" -DincludeScope=runtime "-DoutputDirectory=$folder/jars" >&2
# Spark has its own of these.
rm -f "$folder"/jars/slf4j-api-* "$folder"/jars/netty-*.Final.jar
mkdir -p "$jars"
cp "$folder"/jars/* "$jars/"
