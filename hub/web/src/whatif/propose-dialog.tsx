import { Alert, Button, Group, Modal, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { href } from "../filters/filters";
import { kindOf } from "../forms/kinds";
import { Outside, To } from "../parts/links";
import { plain } from "../words/text";
import type { Edit, Plan, Proposal } from "../api/types";
import { propose } from "./queries";
import { summaryOf } from "./plan/result";
import { editText } from "./edit-list";

interface ProposeDialogProps {
  opened: boolean;
  close(): void;
  done(proposal: Proposal): void;
  /** The branch is not where the plan was made. */
  moved(): void;
  edits: Edit[];
  plan: Plan;
}

/** Opens a pull request with the edits. */
export function ProposeDialog({ opened, close, done, moved, edits, plan }: ProposeDialogProps) {
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const [confirm, setConfirm] = useState("");
  const queries = useQueryClient();
  const body = { environment: plan.environment, edits, title: title.trim() || titleOf(edits, plan.environment).slice(0, 200), text, ...(plan.massRemoval ? { confirm: confirm.trim() } : {}) };
  // the same request is the same attempt, however often it is sent
  const attempt = useRef({ request: "", key: "" });
  const send = useMutation({
    mutationFn: () => {
      const request = JSON.stringify([body, plan.head]);
      if (attempt.current.request !== request) attempt.current = { request, key: randomKey() };
      return propose(body, plan.head, attempt.current.key);
    },
    onSuccess: ({ proposal }) => {
      close();
      if (proposal) done(proposal);
      else moved();
      void queries.invalidateQueries({ queryKey: ["proposals"] });
    },
  });
  const cancel = () => {
    // what is typed to confirm is of what was shown
    setConfirm("");
    send.reset();
    close();
  };
  return (
    <Modal opened={opened} onClose={cancel} title={`Propose for ${plain(plan.environment)}`} size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate();
        }}
      >
        <Stack gap="sm">
          <Text size="sm">
            A pull request to branch {plain(plan.branch)} of the control plane: {summaryOf(plan)}. Nothing changes before it is merged.
          </Text>
          <TextInput label="Title" data-autofocus maxLength={200} placeholder={titleOf(edits, plan.environment)} value={title} onChange={(event) => setTitle(event.currentTarget.value)} />
          <Textarea label="Text" rows={4} maxLength={10_000} value={text} onChange={(event) => setText(event.currentTarget.value)} />
          {plan.massRemoval && (
            <TextInput
              label={`This removes ${plan.massRemoval.count.toLocaleString("en")} of ${plan.massRemoval.of.toLocaleString("en")} assignments. Type ${plain(plan.environment)} to propose it`}
              required
              autoComplete="off"
              value={confirm}
              onChange={(event) => setConfirm(event.currentTarget.value)}
            />
          )}
          {send.error && (
            <Alert color="red" variant="outline" role="alert" title="It is not proposed">
              <Text size="sm" className="reason">
                {send.error.message}
              </Text>
            </Alert>
          )}
          <Group justify="end" gap="xs">
            <Button size="xs" variant="default" onClick={cancel}>
              Cancel
            </Button>
            <Button size="xs" type="submit" loading={send.isPending} disabled={Boolean(plan.massRemoval) && confirm.trim() !== plan.environment}>
              Open the pull request
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** The pull request that a proposal is. */
export function Proposed({ proposal, close }: { proposal: Proposal | undefined; close(): void }) {
  return (
    <Modal opened={proposal !== undefined} onClose={close} title="Proposed" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {proposal && (
        <Stack gap="sm">
          <Text role="status">
            Pull request{" "}
            <Outside url={proposal.url}>
              #{proposal.number} {plain(proposal.title)}
            </Outside>{" "}
            is {plain(proposal.state)}.
          </Text>
          {proposal.fourEyes && <Text size="sm">Somebody else than its author has to approve it before it can be merged.</Text>}
          <Group justify="space-between">
            <To path={href("/pull-requests", { env: proposal.environment, show: "proposals" })}>All proposals</To>
            <Button size="xs" onClick={close}>
              Done
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

/** A title for those who write none. */
export function titleOf(edits: Edit[], env: string): string {
  const [first] = edits;
  if (first && edits.length === 1) return `${kindOf(first.kind ?? "")?.kind ?? first.kind} ${first.name}: ${editText(first)}`;
  const names = [...new Set(edits.map((one) => one.name ?? ""))];
  return names.length <= 3 ? `Change ${names.join(", ")} in ${env}` : `Change ${names.length} objects of ${env}`;
}

/** A key that no other attempt has. Pages that come by neither TLS nor loopback have no randomUUID. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
