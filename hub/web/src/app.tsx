import { Stack, Text, Title } from "@mantine/core";
import { lazy, Suspense } from "react";
import { Route, Switch, useLocation } from "wouter";
import { nameIn } from "./filters/filters";
import { Failure } from "./frame/failure";
import { Frame } from "./frame/frame";
import { Enter } from "./pages/enter";
import { Loading } from "./parts/notices";

const Fleet = lazy(() => import("./fleet/page"));
const Changes = lazy(() => import("./changes/page"));
const Change = lazy(() => import("./changes/change"));
const Compare = lazy(() => import("./compare/page"));
const Drift = lazy(() => import("./pages/drift"));
const Placements = lazy(() => import("./pages/placements"));
const Clusters = lazy(() => import("./pages/clusters"));
const Cluster = lazy(() => import("./pages/cluster"));
const Assignments = lazy(() => import("./pages/assignments"));
const Workloads = lazy(() => import("./pages/workloads"));
const Workload = lazy(() => import("./pages/workload"));
const PullRequests = lazy(() => import("./pages/pull-requests"));
const WhatIf = lazy(() => import("./whatif/page"));
const Environments = lazy(() => import("./pages/environments"));
const Environment = lazy(() => import("./pages/environment"));
const Workshop = lazy(() => import("./workshop/page"));
const Sandbox = lazy(() => import("./pages/sandbox"));
const Operator = lazy(() => import("./pages/operator"));

export function App() {
  const [location] = useLocation();
  const name = nameIn(window.location.pathname);
  return (
    <Switch>
      <Route path="/enter">
        <Enter />
      </Route>
      <Route>
        <Frame>
          <Failure page={location}>
            <Suspense fallback={<Loading />}>
              <Switch>
                <Route path="/" component={Fleet} />
                <Route path="/changes" component={Changes} />
                <Route path="/changes/:id">{(params) => <Change key={params.id} id={Number(params.id)} />}</Route>
                <Route path="/compare" component={Compare} />
                <Route path="/drift" component={Drift} />
                <Route path="/placements" component={Placements} />
                <Route path="/clusters" component={Clusters} />
                <Route path="/clusters/:name">
                  <Cluster key={name} name={name} />
                </Route>
                <Route path="/assignments" component={Assignments} />
                <Route path="/workloads" component={Workloads} />
                <Route path="/workloads/:name">
                  <Workload key={name} name={name} />
                </Route>
                <Route path="/pull-requests" component={PullRequests} />
                <Route path="/what-if" component={WhatIf} />
                <Route path="/environments" component={Environments} />
                <Route path="/environments/:name">
                  <Environment key={name} name={name} />
                </Route>
                <Route path="/workshop">
                  <Workshop />
                </Route>
                <Route path="/workshop/:name">
                  <Workshop name={name} />
                </Route>
                <Route path="/sandbox" component={Sandbox} />
                <Route path="/operator" component={Operator} />
                <Route>
                  <Stack gap="xs">
                    <Title order={1} size="h2">
                      There is no such page
                    </Title>
                    <Text>The navigation has all that there are.</Text>
                  </Stack>
                </Route>
              </Switch>
            </Suspense>
          </Failure>
        </Frame>
      </Route>
    </Switch>
  );
}
