import { Alert, Button, Group, Text } from "@mantine/core";
import { Component, type ReactNode } from "react";

interface FailureProps {
  /** What is shown; another one is tried anew. */
  page: string;
  children: ReactNode;
}

/** Says that a page could not be shown, in its place: the hub's program may be another one since this page was opened, or it is a fault of ours. */
export class Failure extends Component<FailureProps, { error?: Error; of?: string }> {
  override state: { error?: Error; of?: string } = {};

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ page }: FailureProps, { of }: { of?: string }): { error?: Error; of?: string } | null {
    return page === of ? null : { of: page, error: undefined };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Alert color="red" variant="outline" role="alert" title="This page cannot be shown">
        <Text size="sm" className="reason">
          {error.message}
        </Text>
        <Group mt="xs">
          <Button size="xs" variant="outline" onClick={() => window.location.reload()}>
            Load it again
          </Button>
        </Group>
      </Alert>
    );
  }
}
