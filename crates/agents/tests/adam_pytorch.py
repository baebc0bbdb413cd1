"""Prints the numbers in tests/adam.rs: six steps of torch.optim.Adam, and of clip_grad_norm_ before them.

Run with PyTorch (2.15 was used): python adam_pytorch.py
"""

import torch

for rate, epsilon, clip in [(3e-4, 1e-5, 0.5), (1e-4, 1e-8, 10.0), (0.1, 1e-8, 1e9)]:
    parameters = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0, 0.0]))
    optimiser = torch.optim.Adam([parameters], lr=rate, eps=epsilon)
    for step in range(6):
        k = step + 1
        parameters.grad = torch.tensor([0.1 * k, -2.0 / k, 1e-4, 3.0 if k % 2 else -1.0])
        norm = torch.nn.utils.clip_grad_norm_([parameters], clip)
        optimiser.step()
        numbers = ", ".join(f"{x:.9e}" for x in parameters.detach().tolist())
        print(f"({rate}, {epsilon}, {clip}, {norm.item():.7e}, [{numbers}]),")
