#!/usr/bin/env bash
# Builds the fuzz targets for OSS-Fuzz, which sets SRC and OUT: the programs, their inputs, their dictionary, and the captures
# that some of them disturb.
set -euo pipefail
cd "$SRC/rpcrdma"

cargo fuzz build -O --debug-assertions
for source in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    cp "${CARGO_TARGET_DIR:-fuzz/target}/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    cp fuzz/dictionary "$OUT/$target.dict"
    rm -f "$OUT/${target}_seed_corpus.zip"
    [ ! -d "testdata/corpus/$target" ] || zip -q -j -r "$OUT/${target}_seed_corpus.zip" "testdata/corpus/$target"
done
# Programs look for them beside themselves.
cp -r testdata/captures "$OUT/"
