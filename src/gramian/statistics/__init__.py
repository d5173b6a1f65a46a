"""Says what eigenpairs mean: certificates, numbers of components, projections."""
