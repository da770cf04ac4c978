#!/usr/bin/env bash
source ./lib/common.sh
TARGET=production
export REGION="north"

# Sends it out.
deploy() {
  local where="$1"
  build_image "$TARGET"
  push "$where"
}

function rollback {
  deploy previous
}
