#!/usr/bin/env bash
# The shell: a furnace that no Python function describes. You run the experiments, uhebo says which.
#
#     bash examples/shell.sh [folder] [days]
#
# `furnace` stands in for the lab: it reads a CSV with an empty column `value` and fills it in.
set -euo pipefail
folder=${1:-$(mktemp -d)}
days=${2:-4}
cd "$folder"

cat > space.toml <<'TOML'
direction = "maximize"

[parameters]
temperature = [700, 1000]
minutes = {type = "float", low = 5, high = 240, log = true}
TOML

furnace() {  # strength of the alloy, best at 860 degrees and 60 minutes
    awk -F, 'BEGIN { OFS = "," }
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; print; next }
        { t = $column["temperature"]; m = $column["minutes"]
          $column["value"] = 80 - ((t - 860) / 40) ^ 2 - 5 * (log(m / 60)) ^ 2; print }' "$1"
}

uhebo create lab.db --space space.toml --seed 1
for day in $(seq "$days"); do
    echo "day $day"
    uhebo suggest lab.db -n 4 --csv > batch.csv   # four experiments fit into one day
    furnace batch.csv > results.csv
    uhebo tell lab.db --csv results.csv
done
uhebo best lab.db
uhebo diagnose lab.db
