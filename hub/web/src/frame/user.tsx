import { Button, Popover, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, read } from "../api/client";
import { me } from "../api/queries";
import { count, plain } from "../words/text";

/** Who is signed in, as what, and the way out. */
export function UserMenu() {
  const user = useQuery(me).data;
  const queries = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => read(client.DELETE("/session")),
    onSuccess: () => {
      // what this tab has kept is no other user's
      sessionStorage.clear();
      // the answer is 401 then, which shows the way in
      return queries.resetQueries();
    },
  });
  if (!user) return null;
  const { environments, workspaces } = user.scope;
  const seen = [
    ...(environments?.length ? [`${count(environments.length, "environment")}: ${environments.map(plain).join(", ")}`] : []),
    ...(workspaces?.length ? [`${count(workspaces.length, "workspace")}: ${workspaces.map(plain).join(", ")}`] : []),
  ];
  return (
    <Popover position="bottom-end" withArrow trapFocus>
      <Popover.Target>
        <Button size="compact-xs" variant="default" className="user" title={plain(user.subject)}>
          {plain(user.subject)}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Who is signed in">
        <Stack gap="xs">
          <Text size="sm">
            Signed in as {plain(user.subject)} with the role {user.role}.
          </Text>
          {seen.length > 0 && <Text size="sm">This shows {seen.join(", and ")} only.</Text>}
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
