import { Button, Code, Container, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { signIn } from "../api/queries";
import { Loading } from "../parts/notices";
import { plain } from "../words/text";

/** What a browser without a session sees: the ways to get one. */
export function SignIn() {
  const asked = useQuery(signIn);
  if (asked.isPending) return <Loading />;
  const ways = asked.data?.ways ?? [];
  const here = encodeURIComponent(window.location.pathname + window.location.search);
  return (
    <Container size="xs" py="xl" component="main">
      <Stack>
        <Title order={1} size="h2">
          You are not signed in
        </Title>
        {ways.map((way) => (
          <Button key={way.name} component="a" href={`${way.path}?to=${here}`}>
            Sign in with {plain(way.title)}
          </Button>
        ))}
        {asked.data?.sandbox && (
          <Text>
            In a sandbox, run <Code>kalypso open hub</Code> on the machine that the sandbox is on, and open the address that it prints. It works once, for a minute.
          </Text>
        )}
        {asked.data && !asked.data.sandbox && ways.length === 0 && (
          <Text>
            This hub has no way for users to sign in. Who operates it can add one to its configuration: <Code>signIn</Code>.
          </Text>
        )}
        {asked.error && <Text role="alert">The ways to sign in are not known: {asked.error.message}</Text>}
        <Text>
          Scripts use a token of <Code>kalypso hub token create</Code> with the API at <Code>/api/v1</Code>.
        </Text>
      </Stack>
    </Container>
  );
}
