import { Button, Code, Container, Loader, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { problemOf } from "../api/client";
import { me } from "../api/queries";

/** Spends the ticket in the address and goes on to the fleet. Asking for this page spends nothing. */
export function Enter() {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const spend = useMutation({
    mutationFn: async (ticket: string) => {
      const response = await fetch("/enter", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ticket }) });
      if (!response.ok) throw problemOf(response.status, response.statusText, await response.json().catch(() => undefined));
    },
    onSuccess: async () => {
      // who comes to a shared hub comes for the workshop
      const { features } = await queries.fetchQuery(me);
      navigate(features.workshop && !features.sandbox ? "/workshop" : "/", { replace: true });
    },
  });
  const [ticket] = useState(() => new URLSearchParams(location.hash.slice(1)).get("t") ?? "");
  const begun = useRef(false);

  useEffect(() => {
    if (begun.current || !ticket) return;
    begun.current = true;
    // a ticket stays in no history
    history.replaceState(null, "", "/enter");
    spend.mutate(ticket);
  }, [ticket, spend.mutate]);

  return (
    <Container size="xs" py="xl" component="main">
      {ticket && !spend.isError ? (
        <Stack align="center" role="status" aria-label="Signing in">
          <Loader />
        </Stack>
      ) : (
        <Stack>
          <Title order={1} size="h2">
            {spend.error ? "This link does not sign you in" : "This address has no ticket"}
          </Title>
          {spend.error && <Text role="alert">{spend.error.message}</Text>}
          <Text>
            A link works once, for a minute. Run <Code>kalypso open hub</Code> again for a new one.
          </Text>
          <div>
            <Button component="a" href="/" variant="default">
              To the hub
            </Button>
          </div>
        </Stack>
      )}
    </Container>
  );
}
