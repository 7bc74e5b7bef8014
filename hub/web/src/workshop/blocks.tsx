import { Anchor, Code, List, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { ScenarioBlock, StepCheck } from "../api/types";
import { pathOf } from "../filters/filters";
import { CopyButton } from "../parts/copy";
import { Outside } from "../parts/links";
import { plain } from "../words/text";
import { isMet, reachable } from "./progress";

interface Of {
  scenario: string;
  /** What marks the items that are so; nothing where nothing is known. */
  check?: StepCheck;
}

/** Pieces of a step's text. Items that follow each other are one list. */
export function Blocks({ blocks, ...of }: { blocks: ScenarioBlock[] } & Of) {
  const parts: ReactNode[] = [];
  for (let i = 0; i < blocks.length; i++) {
    const first = blocks[i];
    if (!first) continue;
    if (first.kind !== "item") {
      parts.push(<Block key={i} block={first} {...of} />);
      continue;
    }
    const items = [<Item key={i} block={first} code={codeAfter(blocks, i)} {...of} />];
    const begun = i;
    i += codeAfter(blocks, i).length;
    for (let next = blocks[i + 1]; next?.kind === "item"; next = blocks[i + 1]) {
      i++;
      items.push(<Item key={i} block={next} code={codeAfter(blocks, i)} {...of} />);
      i += codeAfter(blocks, i).length;
    }
    parts.push(
      <List key={begun} size="sm" spacing={4} className="step-items">
        {items}
      </List>,
    );
  }
  return <>{parts}</>;
}

/** The code that belongs to an item. */
function codeAfter(blocks: ScenarioBlock[], item: number): ScenarioBlock[] {
  const end = blocks.findIndex((one, index) => index > item && one.kind !== "code");
  return blocks.slice(item + 1, end < 0 ? blocks.length : end);
}

function Item({ block, code, ...of }: { block: ScenarioBlock; code: ScenarioBlock[] } & Of) {
  const met = isMet(block, of.check);
  return (
    <List.Item>
      {met === true && <span className="step-met">✓ so: </span>}
      {met === false && <span className="step-unmet">… not yet: </span>}
      <Spans block={block} />
      {code.map((one, index) => (
        <Block key={index} block={one} {...of} />
      ))}
    </List.Item>
  );
}

function Block({ block, scenario }: { block: ScenarioBlock } & Of) {
  switch (block.kind) {
    case "label":
      return (
        <Title order={3} size="h5">
          <Spans block={block} />
        </Title>
      );
    case "command":
      return <Snippet code={block.code} label="Commands" />;
    case "code":
    case "diff":
      return <Snippet code={block.code} label={block.kind === "diff" ? "Change" : "Content"} />;
    default:
      return (
        <Text size="sm">
          <Spans block={block} />
          {block.file && (
            <>
              {" "}
              <Anchor href={`/api/v1/workshop/scenarios${pathOf(scenario)}/files${pathOf(block.file)}`} download={block.path.split("/").pop()} inherit>
                Download {plain(block.path.split("/").pop())}
              </Anchor>
            </>
          )}
        </Text>
      );
  }
}

function Spans({ block }: { block: ScenarioBlock }) {
  return (
    <>
      {block.spans.map((span, index) => {
        const text = plain(span.text);
        if (span.strong) return <strong key={index}>{text}</strong>;
        if (!span.code) return <span key={index}>{text}</span>;
        const code = <Code>{text}</Code>;
        if (!span.url || !reachable(span.url, location.hostname)) return <Code key={index}>{text}</Code>;
        return (
          <Outside key={index} url={span.url}>
            {code}
          </Outside>
        );
      })}
    </>
  );
}

/** Lines that are to be copied whole. */
function Snippet({ code, label }: { code: string; label: string }) {
  return (
    <div className="snippet">
      <Code block tabIndex={0} role="group" aria-label={label}>
        {code}
      </Code>
      <div className="snippet-copy">
        <CopyButton text={code} what={label.toLowerCase()} />
      </div>
    </div>
  );
}
