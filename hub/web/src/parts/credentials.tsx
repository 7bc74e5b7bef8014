import { Button, Code, Group, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { client, read } from "../api/client";

/** The password of a server, which is asked for only when it is to be shown. */
export function Credentials({ name }: { name: string }) {
  const ask = useMutation({ mutationFn: () => read(client.GET("/sandbox/places/{name}/credentials", { params: { path: { name } } })), gcTime: 0 });
  if (!ask.data) {
    return (
      <>
        <Button size="compact-xs" variant="default" loading={ask.isPending} aria-label={`Show the password of ${name}`} onClick={() => ask.mutate()}>
          Show
        </Button>
        {ask.error && (
          <Text size="sm" role="alert">
            {ask.error.message}
          </Text>
        )}
      </>
    );
  }
  return (
    <Group gap="xs" wrap="nowrap">
      <Code>{ask.data.password || ask.data.token}</Code>
      <Button size="compact-xs" variant="default" aria-label={`Hide the password of ${name}`} onClick={() => ask.reset()}>
        Hide
      </Button>
    </Group>
  );
}
