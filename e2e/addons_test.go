//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// addons: a load balancer and a NodePort of an application answer on this machine's
// loopback, and a pod's claim gets a volume that it can write.
func addons(t *testing.T, m *machine) {
	if os.Geteuid() != 0 {
		t.Skip("not root: the nodes are simulated, and their pods do not run")
	}
	const namespace, deployment = "dev-kaizen-app-team-hello-world-app-functional-test", "deployment/hello-world-deployment"
	kubectl := func(args ...string) string {
		m.t.Helper()
		return m.run(append([]string{"kubectl", "--context", "drone", "--namespace", namespace}, args...)...).stdout
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	target := kubectl("get", "service", "hello-world-service", "-o", "jsonpath={.spec.ports[0].targetPort}")
	kubectl("expose", "service", "hello-world-service", "--name", "exposed", "--type", "LoadBalancer", "--port", fmt.Sprint(port), "--target-port", target)
	defer kubectl("delete", "service", "exposed")
	nodePort := kubectl("get", "service", "exposed", "-o", "jsonpath={.spec.ports[0].nodePort}")
	for _, at := range []string{fmt.Sprint(port), nodePort} {
		began := time.Now()
		waitFor(t, "an answer of the application at localhost:"+at, 15*time.Second, func() error {
			answer, err := (&http.Client{Timeout: 2 * time.Second}).Get("http://localhost:" + at + "/")
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			page, err := io.ReadAll(answer.Body)
			if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "<b>Drone</b>")) {
				err = fmt.Errorf("%s: %s", answer.Status, page)
			}
			return err
		})
		t.Logf("localhost:%s answers: %.2f s", at, time.Since(began).Seconds())
	}
	if at := kubectl("get", "service", "exposed", "-o", "jsonpath={.status.loadBalancer.ingress[0].hostname}"); at != "localhost" {
		t.Errorf("the load balancer is at %q", at)
	}

	image := kubectl("get", deployment, "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	file := filepath.Join(m.dir, "claim.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: data}
spec:
  securityContext: {runAsUser: 4242, runAsNonRoot: true}
  containers: [{name: app, image: %q, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`, image), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("apply", "--filename", file)
	defer kubectl("delete", "--ignore-not-found", "--filename", file)
	kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "persistentvolumeclaim/data", "--timeout=30s")
	kubectl("wait", "--for=condition=Ready", "pod/data", "--timeout=30s")
	volume := kubectl("get", "persistentvolumeclaim", "data", "-o", "jsonpath={.spec.volumeName}")
	folder := filepath.Join(m.home, "clusters", "drone", "node", "var", "lib", "kalypso-volumes", volume)
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info, err)
	}
	kubectl("delete", "--filename", file)
	waitFor(t, "the volume's folder to be gone", 30*time.Second, func() error {
		if _, err := os.Stat(folder); err == nil {
			return fmt.Errorf("%s is there", folder)
		}
		return nil
	})
}
