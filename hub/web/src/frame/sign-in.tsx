import { Code, Container, Stack, Text, Title } from "@mantine/core";

/** What a browser without a session sees. */
export function SignIn() {
  return (
    <Container size="xs" py="xl" component="main">
      <Stack>
        <Title order={1} size="h2">
          You are not signed in
        </Title>
        <Text>
          In a sandbox, run <Code>kalypso open hub</Code> on the machine that the sandbox is on, and open the address that it prints. It works once, for a minute.
        </Text>
        <Text>
          Scripts use a token of <Code>kalypso hub token create</Code> with the API at <Code>/api/v1</Code>.
        </Text>
      </Stack>
    </Container>
  );
}
