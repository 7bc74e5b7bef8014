package addons

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// claim is one that the scheduler has chosen the node for.
func claim() *corev1.PersistentVolumeClaim {
	name := class
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "data", UID: "1-2", Annotations: map[string]string{
			"volume.kubernetes.io/storage-provisioner": provisioner, "volume.kubernetes.io/selected-node": "drone",
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

func TestVolumesAreFoldersOfTheNode(t *testing.T) {
	f := folders{data: t.TempDir(), node: "drone"}
	client := fake.NewClientset(claim(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "drone", Labels: map[string]string{corev1.LabelHostname: "drone"}}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.run(ctx, client, slog.New(slog.DiscardHandler), func() {}) }()
	defer func() { cancel(); <-ended }()
	var volume corev1.PersistentVolume
	eventually(t, "a volume", func() error {
		all, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err == nil && len(all.Items) != 1 {
			err = errors.New("there is none")
		}
		if err == nil {
			volume = all.Items[0]
		}
		return err
	})
	source := volume.Spec.HostPath
	if source == nil || source.Path != "/var/lib/kalypso-volumes/"+volume.Name || volume.Spec.StorageClassName != class ||
		volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.Name != "data" || volume.Spec.Capacity.Storage().String() != "1Gi" {
		t.Errorf("%+v", volume.Spec)
	}
	dir := filepath.Join(f.data, "lib", "kalypso-volumes", volume.Name)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info, err)
	}
	if c, err := client.StorageV1().StorageClasses().Get(ctx, class, metav1.GetOptions{}); err != nil || c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "row"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	volume.Status.Phase = corev1.VolumeReleased
	if _, err := client.CoreV1().PersistentVolumes().Update(ctx, &volume, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume's end", func() error {
		_, err := client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
}

// Who may write volumes may not have another folder removed by that.
func TestDeleteStaysBelowTheVolumes(t *testing.T) {
	f := folders{data: t.TempDir(), node: "drone"}
	outside := filepath.Join(f.data, "lib", "other")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*corev1.PersistentVolume{
		{ObjectMeta: metav1.ObjectMeta{Name: "../other"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: outside}}}},
	} {
		_ = f.Delete(t.Context(), v)
		if _, err := os.Stat(outside); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}
