import { MantineProvider } from "@mantine/core";
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./api/client";
import { me } from "./api/queries";
import { App } from "./app";
import { isPaused } from "./live/live";
import "./styles";
import { cssVariables, theme } from "./theme";

// the policy lets no style in without it; the server puts a new one into every page
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.nonce ?? "";
setNonce(nonce);

const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // the session has ended: the frame asks again who is signed in, and shows the way in
      if (error instanceof Problem && error.status === 401 && query.queryKey[0] !== me.queryKey[0]) void queries.invalidateQueries({ queryKey: me.queryKey });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // a refusal stays one; the hub may be starting
      retry: (failed, error) => failed < 2 && !(error instanceof Problem && error.status >= 400 && error.status < 500),
      networkMode: "always",
      refetchOnWindowFocus: () => !isPaused(),
    },
    mutations: { networkMode: "always" },
  },
});

const root = document.getElementById("root");
if (!root) throw new Error("the page has no element root");
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce} cssVariablesResolver={cssVariables}>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
