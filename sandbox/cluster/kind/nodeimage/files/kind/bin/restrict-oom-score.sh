#!/bin/bash
# Without CAP_SYS_RESOURCE (bit 24) nobody may be killed later than containerd
# itself. Tell containerd not to try, or no pod starts.
set -euo pipefail

capabilities=0x$(sed -n 's/^CapEff:\s*//p' "${1:-/proc/self/status}")
if ! ((capabilities >> 24 & 1)); then
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' "${2:-/etc/containerd/config.toml}"
fi
