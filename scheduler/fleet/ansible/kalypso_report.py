"""Writes what a run of Ansible did, as a JSON object per line.

ANSIBLE_CALLBACK_PLUGINS names the folder of this file, and KALYPSO_REPORT the file that is
written. It needs nothing but ansible-core. Package scheduler/fleet/ansible reads the lines.
"""

import json
import os

from ansible.plugins.callback import CallbackBase

GIT = ("git", "ansible.builtin.git", "ansible.legacy.git")


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "kalypso_report"

    def __init__(self):
        super().__init__()
        path = os.environ.get("KALYPSO_REPORT")
        self.disabled = not path
        if path:
            self.out = open(path, "a", encoding="utf-8")

    def line(self, **fields):
        self.out.write(json.dumps(fields, default=str) + "\n")
        self.out.flush()

    def task(self, status, result):
        # ansible-core 2.19 has both without the underscore
        task = getattr(result, "task", None) or result._task
        values = getattr(result, "result", None) or result._result
        fields = {"status": status, "name": task.get_name(), "position": task.get_path() or ""}
        if not values.get("_ansible_no_log") and not task.no_log:
            failed = [i for i in values.get("results") or [] if isinstance(i, dict) and i.get("failed")]
            cause = failed[0] if failed else values
            fields["message"] = str(cause.get("stderr") or cause.get("msg") or "")[:2000]
            if task.action in GIT and values.get("after"):
                arguments = values.get("invocation", {}).get("module_args", {})
                fields["checkout"] = {
                    "repo": arguments.get("repo"), "branch": arguments.get("version"), "commit": values["after"],
                }
        self.line(**fields)

    def v2_runner_on_ok(self, result):
        values = getattr(result, "result", None) or result._result
        self.task("changed" if values.get("changed") else "ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.task("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_unreachable(self, result):
        self.task("failed", result)

    def v2_runner_on_skipped(self, result):
        self.task("skipped", result)

    def v2_playbook_on_no_hosts_matched(self):
        self.line(status="failed", name="hosts", position="", message="a play is for none of this host's names")

    def v2_playbook_on_stats(self, stats):
        self.line(status="end")
