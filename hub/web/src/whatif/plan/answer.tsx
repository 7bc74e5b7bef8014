import { Alert, Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { Problem } from "../../api/client";
import { CommitLink } from "../../parts/links";
import { Empty, Failed, Loading } from "../../parts/notices";
import { count, plain } from "../../words/text";
import type { Against, Edit, Plan, Proposal } from "../../api/types";
import { useMayPropose } from "../permission";
import { ProposeDialog, Proposed } from "../propose-dialog";
import { againsts, Result, summaryOf } from "./result";
import type { AnswerState } from "./use-answer";

interface AnswerProps {
  env: string;
  edits: Edit[];
  answer: AnswerState;
  /** The edits are proposed. */
  done(): void;
}

/** What the edits would do, and the way to propose them. */
export function Answer({ env, edits, answer, done }: AnswerProps) {
  const { asked, found, old, refused, against, setAgainst, rebase } = answer;
  const plan = found?.plan;
  const may = useMayPropose(env);
  const [opened, { open, close }] = useDisclosure(false);
  // what is proposed is the plan that was looked at, whatever comes while the dialog is open
  const [chosen, choose] = useState<Plan>();
  const [moved, setMoved] = useState(false);
  const halted = moved || plan?.stale === true;
  const [proposal, setProposal] = useState<Proposal>();
  if (edits.length === 0) {
    return (
      <>
        <Empty reason="Nothing is changed yet.">Once something is, this side has the assignments that are gained and lost, the clusters that they touch, configuration, files, findings and policy tests.</Empty>
        <Proposed proposal={proposal} close={() => setProposal(undefined)} />
      </>
    );
  }
  return (
    <Stack gap="sm" component="section" aria-label="What would happen">
      <Group justify="space-between" gap="sm">
        <SegmentedControl
          size="xs"
          aria-label="Compared with"
          value={against}
          onChange={(value) => setAgainst(value as Against)}
          data={Object.entries(againsts).map(([value, label]) => ({ value, label }))}
        />
        {may && (
          <Button
            size="xs"
            disabled={!plan?.changed || old || halted || refused.size > 0}
            onClick={() => {
              choose(plan);
              open();
            }}
          >
            Propose
          </Button>
        )}
      </Group>
      <Text fw={600} role="status" aria-busy={old} className={old ? "old-answer" : undefined}>
        {plan ? summaryOf(plan) : asked.isError ? "" : "Planning"}
      </Text>
      {plan && found && (
        <Text size="sm" c="dimmed" mt={-8}>
          {against === "planned" ? "Compared with what is planned now" : against === "merged" ? "Compared with what is merged" : "Compared with what runs"}, on {plain(plan.branch)}{" "}
          <CommitLink repo={plan.controlPlane} commit={plan.head} />, in {Math.round(found.took).toLocaleString("en")} ms.
        </Text>
      )}
      {halted && plan && (
        <Alert color="gray" variant="outline" role="alert" title={plan.moved > 0 ? `${plain(plan.branch)} moved by ${count(plan.moved, "commit")}` : `${plain(plan.branch)} is another than it was`}>
          <Text size="sm">Nothing is proposed. What is shown is planned anew on its head; look at it once more.</Text>
          <Button
            size="compact-xs"
            variant="default"
            mt={6}
            onClick={() => {
              setMoved(false);
              rebase(plan.head);
            }}
          >
            Go on from there
          </Button>
        </Alert>
      )}
      {plan?.massRemoval && (
        <Alert color="red" variant="outline" title={`This removes ${plan.massRemoval.count.toLocaleString("en")} of ${count(plan.massRemoval.of, "assignment")}`}>
          <Text size="sm">To propose it, the name of the environment has to be typed.</Text>
        </Alert>
      )}
      {asked.isError && !old && (refused.size > 0 ? <Refused error={asked.error} /> : <Failed what="what would happen" asked={asked} />)}
      {plan && found ? (
        <div className={old ? "old-answer" : undefined} aria-busy={old}>
          <Result plan={plan} asking={found.asking} />
        </div>
      ) : (
        !asked.isError && <Loading />
      )}
      {chosen && (
        <ProposeDialog
          opened={opened}
          close={close}
          done={(made) => {
            setProposal(made);
            done();
          }}
          edits={edits}
          plan={chosen}
          moved={() => {
            setMoved(true);
            void asked.refetch();
          }}
        />
      )}
    </Stack>
  );
}

/** That an edit cannot be made. Which one, and why, stands at it too. */
function Refused({ error }: { error: Error | null }) {
  const problem = error instanceof Problem ? error : undefined;
  return (
    <Alert color="red" variant="outline" role="alert" title="These edits cannot be made">
      {problem?.errors.map(({ message }, index) => (
        <Text size="sm" className="reason" key={index}>
          {message}
        </Text>
      ))}
      {problem?.hint && <Text size="sm">{problem.hint}</Text>}
    </Alert>
  );
}
