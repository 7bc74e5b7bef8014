# Every line of the basic inference tutorials that calls az, as it is printed.

# README.md
az connectedk8s connect --name cluster-east --resource-group your-rg
az connectedk8s connect --name cluster-west --resource-group your-rg
az connectedk8s list --resource-group your-rg --output table
az login
az connectedk8s proxy --name your-arc-cluster --resource-group your-rg
az k8s-configuration flux create \
    --name "platform-qa" \
    --cluster-name $CLUSTER_NAME \
    --namespace flux-system \
    --https-user flux \
    --https-key $TOKEN \
    --resource-group $RESOURCE_GROUP \
    --url "https://github.com/$GITHUB_ORG/kalypso-platform-gitops" \
    --scope cluster \
    --interval 10s \
    --cluster-type connectedClusters \
    --branch qa \
    --kustomization name="platform-qa" prune=true sync_interval=10s path=west-us

# The kata
az connectedk8s list --output table
az resource list --resource-group rg-kalypso-control --output table
az k8s-configuration flux list \
  --cluster-name your-arc-cluster \
  --resource-group your-resource-group \
  --cluster-type connectedClusters \
  --output table
az k8s-configuration flux delete \
  --name platform-dev \
  --cluster-name your-arc-cluster \
  --resource-group your-resource-group \
  --cluster-type connectedClusters \
  --yes
az k8s-configuration flux delete \
  --name platform-qa \
  --cluster-name your-arc-cluster \
  --resource-group your-resource-group \
  --cluster-type connectedClusters \
  --yes
az aks show --name kalypso-control-plane --resource-group rg-kalypso-control
