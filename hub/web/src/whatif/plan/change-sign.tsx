const signs = { added: "+", removed: "−", changed: "~" } as const;

/** What becomes of something, as a sign and a word. */
export function ChangeSign({ change, word = change }: { change: keyof typeof signs; word?: string }) {
  return (
    <span className="change" data-change={change}>
      <span className="change-sign" aria-hidden="true">
        {signs[change]}
      </span>
      {word}
    </span>
  );
}
