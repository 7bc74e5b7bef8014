import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { whatIfPath } from "./address";
import type { Edit } from "../api/types";
import { useMayPropose } from "./permission";

interface EditButtonProps {
  env: string;
  kind?: string;
  name?: string;
  /** A new object of the kind. */
  make?: boolean;
  edits?: Edit[];
  /** What it is, for those who hear it without what is around it. */
  label?: string;
  children: ReactNode;
}

/** The way to the what-if page, for those who may propose what they find there. */
export function EditButton({ env, kind, name, make, edits, label, children }: EditButtonProps) {
  const may = useMayPropose(env);
  if (!may) return null;
  return (
    <Button component={Link} href={whatIfPath(env, { kind, name, make }, edits)} size="compact-xs" variant="default" aria-label={label}>
      {children}
    </Button>
  );
}
