import { Button, Popover, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, read } from "../api/client";
import { me } from "../api/queries";

/** Who is signed in, as what, and the way out. */
export function UserMenu() {
  const user = useQuery(me).data;
  const queries = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => read(client.DELETE("/session")),
    // the answer is 401 then, which shows the way in
    onSuccess: () => queries.resetQueries(),
  });
  if (!user) return null;
  return (
    <Popover position="bottom-end" withArrow trapFocus>
      <Popover.Target>
        <Button size="compact-xs" variant="default">
          {user.subject}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <Text size="sm">Signed in with the role {user.role}.</Text>
          <Button size="xs" variant="default" loading={signOut.isPending} onClick={() => signOut.mutate()}>
            Sign out
          </Button>
          {signOut.error && (
            <Text size="sm" role="alert">
              {signOut.error.message}
            </Text>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
