#!/bin/bash
# Refuses what pods send to addresses of Services that kube-proxy has no rule
# for, above all while it starts: sent on, a first packet would be remembered as
# one that needs no translation, and the pod (CoreDNS, mostly) would wait half a
# minute for an answer.
set -euo pipefail

subnets=$(sed -n 's/^ *serviceSubnet: *"\{0,1\}\([^"]*\)"\{0,1\} *$/\1/p' "${1:-/kind/kubeadm.conf}" | head -n 1)
for subnet in ${subnets//,/ }; do
  tool=iptables
  [[ $subnet != *:* ]] || tool=ip6tables
  for rule in "-p tcp -j REJECT --reject-with tcp-reset" "-j REJECT"; do
    # shellcheck disable=SC2086 # a rule is several arguments
    $tool --wait -C FORWARD -d "$subnet" $rule 2>/dev/null || $tool --wait -A FORWARD -d "$subnet" $rule
  done
done
