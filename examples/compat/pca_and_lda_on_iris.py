"""PCA beside linear discriminants: three kinds of iris in two dimensions."""

from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

iris = datasets.load_iris()
pca = PCA(n_components=2)
by_variance = pca.fit(iris.data).transform(iris.data)
by_class = LinearDiscriminantAnalysis(n_components=2).fit(iris.data, iris.target).transform(iris.data)

print("explained variance ratio (first two components):", pca.explained_variance_ratio_.round(6))
for name, scores in (("PCA", by_variance), ("LDA", by_class)):
    for kind, label in enumerate(iris.target_names):
        centre = scores[iris.target == kind].mean(axis=0)
        print(f"{name} {label:10} centre {centre[0]:8.4f} {centre[1]:8.4f}")
