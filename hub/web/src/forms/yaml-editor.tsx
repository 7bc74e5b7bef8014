import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, linter } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { getNonce } from "get-nonce";
import { useEffect, useRef } from "react";
import type { TextProblem } from "./yaml-problems";
import "./forms.css";

export interface YAMLEditorProps {
  label: string;
  text: string;
  change(text: string): void;
  /** What is wrong with a text. */
  problems(text: string): TextProblem[];
}

/** How long after the last key the text is looked through, in ms. */
const lintDelay = 200;

/** An editor of YAML that marks what is wrong at its line. Tab leaves it. */
export default function YAMLEditor(props: YAMLEditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const now = useRef(props);
  now.current = props;

  useEffect(() => {
    const { label, text } = now.current;
    const view = new EditorView({
      parent: parent.current ?? undefined,
      doc: text,
      extensions: [
        ...fixed,
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.cspNonce.of(getNonce() ?? ""),
        EditorView.updateListener.of((update) => {
          const written = update.state.doc.toString();
          if (update.docChanged && written !== now.current.text) now.current.change(written);
        }),
        linter((one) => now.current.problems(one.state.doc.toString()).map((problem) => ({ ...problem, severity: "error" as const })), { delay: lintDelay }),
      ],
    });
    editor.current = view;
    return () => view.destroy();
  }, []);

  // what somebody else has changed, such as undo
  useEffect(() => {
    const view = editor.current;
    if (view && view.state.doc.toString() !== props.text) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: props.text } });
  }, [props.text]);

  return <div className="yaml-editor" ref={parent} />;
}

// colours of AA on both backgrounds
const highlighting = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "light-dark(#1864ab, #74c0fc)" },
  { tag: [tags.string, tags.content], color: "light-dark(#2b6e38, #8ce99a)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.keyword], color: "light-dark(#862e9c, #e599f7)" },
  { tag: tags.comment, color: "light-dark(#495057, #c1c2c5)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { fontSize: "12px", backgroundColor: "light-dark(#ffffff, #242424)", color: "light-dark(#212529, #e9ecef)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", minHeight: "160px", maxHeight: "480px", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "light-dark(#f8f9fa, #2e2e2e)", color: "light-dark(#495057, #c1c2c5)", borderRight: "1px solid light-dark(#dee2e6, #424242)" },
  ".cm-content": { caretColor: "light-dark(#000000, #ffffff)" },
  ".cm-cursor": { borderLeftColor: "light-dark(#000000, #ffffff)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "light-dark(#d0ebff, #1b3a57)" },
  ".cm-tooltip": { backgroundColor: "light-dark(#ffffff, #2e2e2e)", color: "light-dark(#212529, #e9ecef)", border: "1px solid light-dark(#868e96, #909296)" },
});

const fixed: Extension[] = [
  lineNumbers(),
  lintGutter(),
  history(),
  yaml(),
  indentUnit.of("  "),
  EditorState.tabSize.of(2),
  syntaxHighlighting(highlighting),
  theme,
  EditorView.lineWrapping,
  keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
];
