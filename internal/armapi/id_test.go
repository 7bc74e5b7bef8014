package armapi

import "testing"

func TestParseClusterID(t *testing.T) {
	drone := Cluster{Subscription: "sub", ResourceGroup: "rg", Type: ConnectedClusters, Name: "drone"}
	c, err := ParseClusterID(drone.ConfigurationID("x"))
	if err != nil || c != drone {
		t.Errorf("%+v %v", c, err)
	}
	for _, wrong := range []string{"", "/subscriptions/s/resourceGroups/g", "/a/s/resourceGroups/g/providers/p/t/n"} {
		if _, err := ParseClusterID(wrong); err == nil {
			t.Errorf("%q is a cluster", wrong)
		}
	}
}
