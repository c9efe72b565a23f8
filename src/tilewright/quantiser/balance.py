from tilewright.ir.graph import Graph
def balanced(graph, samples, widths, progress, processes): return graph
