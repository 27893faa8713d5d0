"""Who answers a prompt: services, local servers, a person, the catalogue. The only place that imports a model's SDK."""
