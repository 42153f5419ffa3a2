"""Read and apply the configuration of the service as one document that names records instead of using ids."""
